"""A sweep that tunes settings of each configuration before it compares them.

A configuration is a combination of everything that the sweep varies except the seed. All
configurations are tuned by the same procedure, at seeds that are not compared. Each is tried at all
values of the tuned settings. While the best number is the last one in its direction, the next may
be tried. The two best values may be tried at further seeds, and so is the next number while the
best one over all seeds is the last in its direction. The values with the best mean of a metric that
does not use the test set are then run at the seeds of the sweep. All runs are jobs with folders of
their own, so the same command continues where an interrupted one ended.
"""
