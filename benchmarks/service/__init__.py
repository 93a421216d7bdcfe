"""The service under load: what a request costs, how many clients it holds, what is lost when it is killed."""
