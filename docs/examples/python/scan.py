"""A scan of a parameter with a plot: how far a random walk gets, by its number of steps. Draws scan.svg without a library."""

import random
import statistics

import divvy

STEPS = [10, 30, 100, 300, 1000]
WALKS = 4  # jobs for each number of steps


def distance(steps, seed):
    """The mean distance of a hundred walks in the plane."""
    rng = random.Random(seed)

    def walk():
        return abs(sum(rng.choice((1, -1, 1j, -1j)) for _ in range(steps)))

    return statistics.mean(walk() for _ in range(100))


def plot(points, file):
    """A line through points, both axes logarithmic by the position of STEPS."""
    top = max(y for _, y in points)
    at = [(60 + 440 * i / (len(points) - 1), 260 - 220 * y / top) for i, (_, y) in enumerate(points)]
    marks = [f'<text x="{x:.0f}" y="285">{steps}</text><text x="{x:.0f}" y="{y - 8:.0f}">{value:.1f}</text>'
             for (x, y), (steps, value) in zip(at, points)]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in at)
    with open(file, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 300" font-size="13" text-anchor="middle">'
                f'<polyline points="{line}" fill="none" stroke="steelblue" stroke-width="2"/>{"".join(marks)}</svg>\n')


if __name__ == "__main__":
    with divvy.Executor(label="user") as pool:
        futures = {steps: [pool.submit(distance, steps, seed) for seed in range(WALKS)] for steps in STEPS}
        points = [(steps, statistics.mean(f.result() for f in futures[steps])) for steps in STEPS]
    plot(points, "scan.svg")
    for steps, mean in points:
        print(f"{steps:5d} steps: {mean:5.1f} from the start")
