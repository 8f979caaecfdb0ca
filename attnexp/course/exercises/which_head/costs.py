"""Prints exact match without each head: on the validation set, and its change on the test set."""

import pandas as pd

import attnexp

runs = attnexp.load_results("outputs").sort_values("seed")
for seed, folder in zip(runs["seed"], runs["folder"], strict=True):
    rows = pd.read_csv(f"{folder}/interventions.csv")
    validation = rows[rows["split"] == "validation"].set_index("intervention")
    test = rows[(rows["split"] == "test") & (rows["fed"] == "decoded")].set_index("intervention")
    for head in (1, 2, 3, 4):
        name = f"zero=cross.1.{head}"
        value = validation.loc[name, "exact_match"]
        print(f"seed {seed}  head {head}  {value:.3f}  {test.loc[name, 'exact_match_change']:+.3f}")
