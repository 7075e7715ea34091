"""FastAPI: the dependency, its plan of a route, refusals, and the OpenAPI document."""
