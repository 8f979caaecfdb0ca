"""Where the numbers and pictures of a run go besides its folder."""
