"""Recall, measured: data sets, generated dialogues, the learning of the weights, and what each signal brings."""
