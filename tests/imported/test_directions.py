"""Which values of a metric are better, by its name."""

import pytest

from attnexp.imported.directions import LEFT_OUT, direction_of, rank_of
from attnexp.tasks import chains, characters, regression, seq2seq, translation
from attnexp.tasks.base import Metric

LOWER = """
mismatch_rate accumulated_loss matching_loss brier_score token_acc_loss accuracy_error loss val/loss
valLoss MSE rmse MAE WER cer word_error_rate perplexity ppl val_perplexity_score NLL nll_loss err
classification_error falsePositiveRate false_negative_rate negative_log_likelihood bits_error kl
KL_divergence FID misses recall_loss loss@10 test_loss_epoch false_positive
"""
HIGHER = """
recall auc AUROC roc_auc rouge rouge1 ROUGE-L rougeLsum r2 R2 r_squared em hits@10 Hits@1 chrf bleu
BLEU-4 bleu4 mAP accuracy val/acc valAcc top1_acc f1 F1_macro macro-f1 precision mrr ndcg@5 mAP50
map exact_match exactMatch success_rate neg_mean_squared_error neg_log_loss neg_brier_score
log_likelihood mIoU true_negative_rate
sacrebleu BERTScore
"""
NEITHER = """
foo score accumulate accent hitch matched_rows_ratio scoreboard recaller aucs_std acc_std loss_scale
loss_weight accuracy_drop loss_delta baseline_acc exact_match_chance 1-acc acc_threshold
f1_negative negative/f1-score acc_neg hard_negative_recall loss_neg contrastive_neg_loss
false_match_rate false_hits no_match not_correct 100-acc error_free_rate acc_without_errors
error_reduction distance_travelled em_steps error_detection_accuracy tpr@fpr recall_at_1_error
accuracy_at_distance_5 error_correction_f1 loss_reduction rewards/rejected
grad_norm temperature bandwidth throughput tokens_per_second size num_correct errorless
"""


@pytest.mark.parametrize(
    ("names", "way"), [(LOWER, "lower"), (HIGHER, "higher"), (NEITHER, None)], ids=str
)
def test_whole_words_say_which_values_are_better(names, way):
    found = {name: direction_of(name) for name in names.split()}
    assert found == dict.fromkeys(found, way)


def own_metrics():
    """Every metric that a task of attnexp declares."""
    modules = (chains, characters, regression, seq2seq, translation)
    values = [value for module in modules for value in vars(module).values()]
    several = [each for value in values for each in (value if type(value) is tuple else [value])]
    return {each.name: each.better for each in several if isinstance(each, Metric)}


def test_attnexps_own_metrics_are_as_its_own_runs_say():
    metrics = own_metrics()
    assert {"test_mse", "exact_match", "bleu", "kl_bigram"} <= {*metrics}
    assert {name: direction_of(name) for name in metrics} == metrics
    assert {name: direction_of(f"final/{name}") for name in metrics} == metrics


FAR = """
epoch step global_step trainer/global_step train/step iteration lr lr-Adam train/lr learning_rate
hp_metric timestamp Runtime wall_time
"""


@pytest.mark.parametrize("name", FAR.split())
def test_numbers_that_say_how_far_a_run_is_never_rank(name):
    assert LEFT_OUT.fullmatch(name)


@pytest.mark.parametrize("name", ["loss_step", "train_loss_epoch", "lrap", "steps_to_solve"])
def test_other_numbers_may_rank(name):
    assert not LEFT_OUT.fullmatch(name)


def test_a_test_ranks_before_a_validation_and_training_last():
    names = ["speed", "train/loss", "loss", "eval/acc", "val_loss", "test_acc"]
    assert sorted(names, key=rank_of) == [
        *("test_acc", "eval/acc", "val_loss", "loss", "train/loss", "speed"),
    ]
