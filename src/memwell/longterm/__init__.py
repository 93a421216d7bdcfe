"""Long-term memory: remember, recall, facts, profiles, audits, erasure and media."""
