"""Which fact about themselves people ask for: questions with the relations that answer them, and what learns from them."""
