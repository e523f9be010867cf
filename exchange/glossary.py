"""What the words of the tables mean, one sentence each: for the page, where they stand, and for the report."""

from __future__ import annotations

from collections.abc import Iterable

from exchange.grid import Table

KAPPA = "Cohen's kappa: agreement beyond what chance would give; 1 is perfect, 0 is chance"
QUADRATIC = "Kappa in which a near miss counts for more than a far one"
AC1 = "Gwet's AC1: like kappa, but steady when nearly all labels are the same"
CHANCE = "How often chance alone would give as much; a small p is hardly chance"

MEANINGS = {
    "agreement": "Share of items, or pairs of votes, with the same label",
    "kappa": KAPPA,
    "quadratic kappa": QUADRATIC,
    "linear kappa": "Kappa in which a miss by two labels counts for twice a miss by one",
    "AC1": AC1,
    "AC2": "AC1 in which a near miss counts for more than a far one",
    "Scott's pi": "Like kappa, with chance taken from the labels of both raters together",
    "PABAK": "Agreement on a scale where 0 is guessing among all labels alike and 1 is perfect",
    "prevalence index": "How much more often both give the one of two labels than both give the other",
    "bias index": "How much more often one rater gives a label than the other does",
    "same side or tie": "Share of items with the same side, or both a tie, however strong",
    "where neither says tie": "Agreement where neither of the two says tie",
    "share of those items": "How many of all items that is",
    "share of those votes": "How many of all pairs of votes that is",
    "Stuart–Maxwell p": f"Whether judge and people give each label equally often. {CHANCE}",
    "Bowker p": f"Whether the judge strays from people's labels in either direction alike. {CHANCE}",
    "where people decide": "Agreement where people pick a side; a tie of the judge counts half",
    "within one label": "Share of items with the same label or the one beside it",
    "pairs of votes": "Each person's vote with the judge's, or with each other person's",
    "same label": "Share of items with the same label in both orders",
    "right in both orders": "Share of items with people's label whichever response is shown first",
    "right in order AB": "Share of items with people's label when A is shown first",
    "right in order BA": "Share of items with people's label when B is shown first",
    "order effect": "How far being shown first moves the verdict, in units of reward; 0 is not at all",
    "fairness": "Verdicts that moved to the first place minus those to the second, of all that moved; 0 is even",
    "moved to first, second": "Verdicts that followed the first place, and the second, when the sides were exchanged",
    "p": CHANCE,
    "macro precision": "Of the items that get a label from the judge, the share with people's, averaged over labels",
    "macro recall": "Of the items that get a label from people, the share with the judge's, averaged over labels",
    "macro F1": "The two taken together, averaged over labels",
    "Elo": "Bradley–Terry's strength in chess points: 1000 is the mean, 400 more is ten wins to one loss",
    "McNemar p": f"Whether one judge is right more often where only one of the two is. {CHANCE}",
    "q": "p, corrected for how many pairs of judges are compared",
    "q, dependent": "The same however the comparisons depend on each other, as those that share a judge do",
    "Pearson": "Correlation: 1 is a straight line upwards, 0 is none",
    "Spearman": "Correlation of the ranks instead of the values",
    "Kendall tau-b": "Pairs of items put in the same order minus those in the opposite one, as a share; ties allowed",
    "Lin's concordance": "Correlation that a constant shift or another spread lowers",
    "MAE": "Mean distance of the judge's score from people's",
    "RMSE": "The same distance with large ones counted for more",
    "bias": "The judge's mean score minus people's",
    "Spearman within prompts": "Correlation of ranks among the responses to one prompt, averaged over prompts",
    "Spearman between models": "Correlation of the models' ranks by their mean scores",
    "pairs ordered alike": "Share of pairs of responses that judge and people put in the same order",
    "Pearson over its bound": "Pearson relative to the most it can be, as people's mean is itself uncertain",
    "ω": "Share of people whom the judge may replace; from one half on it passes",
    "judge as close": "How often the judge is at least as close to the other people's labels as this person",
    "person as close": "How often this person is at least as close to the other people's labels as the judge",
    "may be replaced": "Whether the judge is surely not worse than this person by the margin ε or more",
    "mean (ρ)": "The mean over people, by which judges are ranked",
    "alt-test": "The alternative annotator test: whether the judge may stand in for a person",
    "gap": "The judge with people minus people with each other; negative is worse than a person",
    "people–people": "People against each other, on the items that have the judge and two people",
    "people–judge": "The judge against each person, on the same items",
    "items without a label": "Items with a consensus of people on which the judge was asked and has no label",
    "agreement if none agreed": "The least that agreement can be: none of those items would have had people's label",
    "agreement if all agreed": "The most that agreement can be: all of those items would have had people's label",
    "longer, at people's verdict": "What being longer adds to a judge's liking where people's verdict is the same: "
    "log odds per standard deviation of length, or for scores a correlation of ranks; 0 is no lean",
    "Spearman of strengths": "Correlation of the models' ranks by the judge with those by people",
    "Kendall tau-b of strengths": "Pairs of models in the same order by judge and people minus those in opposite ones",
    "alpha ordinal": "Krippendorff's alpha: agreement of all beyond chance, near misses counted for more",
    "alpha nominal": "Krippendorff's alpha: agreement of all beyond chance, every miss alike",
    "alpha interval": "Krippendorff's alpha: labels as numbers, distances squared",
    "ICC(2,1)": "Share of the scores' variance that lies between items, for one person's score",
    "ICC(2,k)": "The same for the mean score of all people",
    "WB-Reward": "Mean reward: 1 a strong win, 0.5 a slight one, 0 a tie, and negative for losses",
    "WB-Score": "The mean of scores from 1 to 10, minus 5, times 2: 10 is the best, 0 the middle",
    "win rate": "Share of wins; a tie is half a win",
    "win rate at equal length": "The win rate that is left when both responses are taken to be equally long",
    "Bradley–Terry": "A model's strength, from who beat whom: the log odds of winning against the mean model",
    "labels' worth": "How many labels without a judge one label together with the judge is worth",
    "Rogan–Gladen": "The judge's win rate corrected by how often it errs on either label",
    "drift": "Agreement with the others in the second half of a person's work minus that in the first",
    "with themselves": "Agreement on items that a person was secretly given twice",
}


SAID = {
    "gap": MEANINGS["gap"],
    "quadratic kappa": "Agreement beyond what chance would give, a near miss counted for more than a far one; "
    "1 is perfect, 0 is chance",
    "Cohen's kappa": KAPPA,
    "(kappa": KAPPA,
    "Pearson's r": MEANINGS["Pearson"],
    "Krippendorff's alpha": "Agreement of all people beyond what chance would give; 1 is perfect, 0 is chance",
    "[": "The 95 % interval: of twenty made so, each from other items like these, nineteen hold the true number for "
    "these raters",
}


def words_said(sentence: str) -> dict[str, str]:
    """Return what the words of the first sentence mean, by the words."""
    said = {word: meant for word, meant in SAID.items() if word in sentence}
    return {{"[": "[…, …]", "(kappa": "kappa"}.get(word, word): meant for word, meant in said.items()}


def words_in(tables: Iterable[Table]) -> dict[str, str]:
    """Return what the words mean that are heads in tables, along their top or down their side."""
    used = {word for table in tables for word in (*table.head, *(row[0] for row in table.rows))}
    return {word: meant for word, meant in MEANINGS.items() if word in used}
