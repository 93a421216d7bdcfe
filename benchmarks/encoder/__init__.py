"""The English encoder: prepare data, train on a GPU, measure, and write the weights that are shipped. See README.md."""
