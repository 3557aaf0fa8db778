"""Two outputs, as a list."""


class ModelNew:
    def __call__(self, x):
        mean = x.mean()
        return [mean.view(1), x - mean]
