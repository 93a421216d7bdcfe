"""The service under load: what a request costs, how many clients it holds, and what is lost when it is stopped or killed."""
