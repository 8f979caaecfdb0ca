"""The course: chapters of experiments, and exercises that are checked."""
