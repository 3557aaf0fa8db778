"""From a candidate's text to something that runs: one compiler per language behind one protocol."""
