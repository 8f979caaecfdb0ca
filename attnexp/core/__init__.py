"""What every part may import: batches, masks, errors, the console, files that appear whole."""
