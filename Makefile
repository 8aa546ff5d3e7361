# Commands for development, in an environment with the extra `dev`: pip install -e '.[dev]'

.PHONY: test lint docs bench

test: ## the default suite
	python -m pytest -q -n 2

lint: ## the style, the format and the types
	ruff check
	ruff format --check
	pyright

docs: ## the code blocks of the documentation
	python -m pytest -q -m "" tests/test_docs.py

bench: ## the compiled workloads, here without other libraries
	python benchmarks/compiled/run.py --without torch jax tensorflow numba autograd
	python benchmarks/compiled/first_call.py
