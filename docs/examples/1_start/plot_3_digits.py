"""
Which pixels distinguish handwritten digits?
============================================
The data of ``knockoffs demo``: 1,797 small images. Beside every pixel stands a copy whose rows were shuffled.
Such a copy knows nothing about the digit, so selecting it is certainly a mistake, and mistakes can be counted
on real data. Here a quick generator and statistic do the work; ``knockoffs demo`` uses the defaults.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from knockoffs import HoldoutStatistic, KnockoffSelector
from knockoffs.datasets import add_null_columns

images, digit = load_digits(return_X_y=True, as_frame=True)
seen = images.loc[:, images.std() >= 1.0]  # at the border all images are blank
table = add_null_columns(seen, random_state=0)
statistic = HoldoutStatistic(
    mixture=0, folds=2
)  # one model per fold instead of one per block of features
selector = KnockoffSelector("gaussian", statistic, fdr=0.1, certify=False, random_state=1).fit(
    table, digit
)

# %%

found = selector.selection_.discoveries
false = [name for name in found if name.startswith("null ")]
print(
    f"{len(found)} of {table.shape[1]} columns selected; {len(false)} of them are shuffled copies: {false}"
)

# %%
# The selected pixels, framed, over the mean image of every digit:

selected = np.zeros((8, 8), dtype=bool)
for name in found:
    if name not in false:
        row, column = map(int, name.split("_")[1:])
        selected[row, column] = True
figure, panels = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
for number, axes in enumerate(panels.ravel()):
    axes.imshow(images[digit == number].mean().to_numpy().reshape(8, 8), cmap="gray_r")
    for row, column in np.argwhere(selected):
        axes.add_patch(
            plt.Rectangle(
                (column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#d1495b", linewidth=1.5
            )
        )
    axes.set_axis_off()
    axes.set_title(str(number), fontsize=9)
