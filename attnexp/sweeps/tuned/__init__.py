"""A sweep that tunes settings of each configuration before it compares them.

A configuration is a combination of everything that the sweep varies except the seed. Each one is
tried at all values of the tuned settings, at seeds that are not compared. As long as the best
number is the last one in its direction, the next may be tried. The two best may be tried at further
seeds, and as long as the best over all seeds is the last one in its direction, the next at all of
them: the same procedure for all. The values with the best mean of a metric that does not use the
test set are then run at the seeds of the sweep. All runs are jobs with folders of their
own, so the same command continues where an interrupted one ended.
"""
