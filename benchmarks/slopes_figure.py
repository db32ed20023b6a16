"""The figure of benchmarks/slopes.py."""

from matplotlib.figure import Figure

from stillpoint.report.figures import COLOURS, PLAY


def guide(axes, x, power, start, name):
    """A grey line of slope `power` through (x[0], start)."""
    y = start * (x / x[0]) ** power
    axes.plot(x, y, color="#9a9a9a", linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
    axes.annotate(
        name,
        (x[-1], y[-1]),
        xytext=(3, 0),
        textcoords="offset points",
        color="#6a6a6a",
        fontsize=8,
        va="center",
    )


def draw(table, learners, slope, path):
    """Draw regret on log-log axes; learners: their colours; slope: how lines are fitted."""
    figure = Figure(figsize=(11.0, 8.6), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    groups = [("T smooth", "T jumps"), ("C smooth", "C square"), ("C fine",)]
    for axes, names in zip(panels, groups, strict=False):
        for name in names:
            x, rows = table[name]
            first = name == names[0]
            for i, (learner, colour) in enumerate(learners.items()):
                label = f"{learner}, {name.split()[-1]}: {slope(x, rows[:, i]):.2f}"
                axes.plot(
                    x,
                    rows[:, i],
                    "-o" if first else "--s",
                    color=colour,
                    markersize=4,
                    linewidth=1.5,
                    label=label,
                    markerfacecolor=colour if first else "white",
                )
    T, C, F = (table[name][0] for name in ("T smooth", "C smooth", "C fine"))
    guide(panels[0], T.astype(float), 1 / 3, 5.0, "$T^{1/3}$")
    guide(panels[0], T.astype(float), 1 / 2, 22.0, "$T^{1/2}$")
    guide(panels[1], C, 2 / 3, 0.75 * table["C smooth"][1][0, 2], "$C^{2/3}$")
    guide(panels[2], F, 2 / 3, 0.8 * table["C fine"][1][0].min(), "$C^{2/3}$")
    x, rows = table["example"]
    styles = [
        ("regret", PLAY, "-o"),
        ("bound: log det(I + K/λ), E10", COLOURS[0], "--"),
        ("bound: d_eff ≤ πT/2√λ", COLOURS[5], "--"),
    ]
    for i, (name, colour, style) in enumerate(styles):
        panels[3].plot(
            x,
            rows[:, i],
            style,
            color=colour,
            markersize=4,
            linewidth=1.5,
            label=f"{name}: {slope(x, rows[:, i]):.2f}",
        )
    guide(panels[3], x.astype(float), 2 / 3, 0.75 * rows[0, 0], "$T^{2/3}$")
    titles = (
        "Sine (●) and 4 jumps (□), C = 4",
        "Sines (●) and square waves (□), T = 64 000",
        "Jumps that are just seen, T = 64 000",
        "Spline example: KernelVAW, squared path length 1",
    )
    for axes, title, label in zip(
        panels, titles, ("T", "total variation C", "total variation C", "T"), strict=True
    ):
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="regret")
        axes.set_title(title, fontsize=10.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#ececec", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(
            frameon=False, fontsize=8, title="fitted slope", title_fontsize=8, alignment="left"
        )
    figure.savefig(path, dpi=130)
