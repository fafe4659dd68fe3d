"""Draw the figure of the concepts: python docs/concepts.py docs/concepts.svg."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

mpl.rcParams.update({"svg.hashsalt": "fastpsr", "svg.fonttype": "none", "font.size": 10})
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), sharex=True, layout="constrained")
posterior = np.linspace(0.0, 1.0, 101)
for ax, c_miss, height in zip(axes, (1.0, 10.0), (0.9, 0.4), strict=True):
    threshold = 1.0 / (1.0 + c_miss)
    ax.plot(posterior, 1.0 - posterior, label="accept: cost of a false alarm")
    ax.plot(posterior, c_miss * posterior, label="reject: cost of a miss")
    ax.axvline(threshold, color="0.5", linestyle=":")
    ax.annotate(f" threshold {threshold:.2f}", (threshold, height))
    ax.set(
        title=f"a miss costs {c_miss:g}, a false alarm 1",
        xlabel="posterior of class 1",
        ylim=(0.0, 1.0),
    )
axes[0].set_ylabel("expected cost")
axes[0].legend(loc="lower center", fontsize=8)
figure.savefig(sys.argv[1], metadata={"Date": None})
