import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics

from modeldyno.core.errors import BadValue
from modeldyno.datasets.catalog import make_metric
from tests.datasets.metrics.judging import classes, figures, scores


def expected(task, given, labels):
    accuracy = {"accuracy": sklearn_metrics.accuracy_score(labels, given)}
    match task:
        case "cola":
            return {"mcc": sklearn_metrics.matthews_corrcoef(labels, given)} | accuracy
        case "mrpc" | "qqp":
            return {"f1": sklearn_metrics.f1_score(labels, given)} | accuracy
    return accuracy


HEADLINES = {"cola": "mcc", "mrpc": "f1", "sts-b": "corr"}


@pytest.mark.oracle("GLUE", "sklearn.metrics, scipy.stats")
@pytest.mark.parametrize("task", ["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst-2", "wnli"])
def test_tasks_of_classes(task):
    count = 3 if task == "mnli" else 2
    answers, labels = scores(200, count), classes(200, count)
    result = figures("GLUE", answers, labels, task=task)
    assert result == pytest.approx(expected(task, answers.argmax(axis=1), labels), abs=1e-14)
    assert next(iter(result)) == HEADLINES.get(task, "accuracy")


@pytest.mark.oracle("GLUE", "sklearn.metrics, scipy.stats")
def test_how_alike_sentences_are():
    labels = np.random.default_rng(0).integers(0, 11, 90) / 2
    answers = labels + np.random.default_rng(1).normal(size=90)
    pearson = stats.pearsonr(answers, labels).statistic
    spearman = stats.spearmanr(answers, labels).statistic
    result = figures("GLUE", answers[:, None], labels.tolist(), task="STS-B")
    values = {"corr": (pearson + spearman) / 2, "pearson": pearson, "spearman": spearman}
    assert result == pytest.approx(values, abs=1e-13)
    assert next(iter(result)) == "corr"


def test_only_plain_accuracy_is_a_proportion():
    tasks = ("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb", "wnli")
    shares = {task for task in tasks if make_metric("GLUE", "", {"task": task}).is_proportion}
    assert shares == {"mnli", "qnli", "rte", "sst2", "wnli"}


def test_all_the_same_has_no_correlation():
    assert figures("GLUE", np.array([[0.0, 1.0]] * 9), [1] * 9, task="cola")["mcc"] == 0.0
    assert figures("GLUE", np.array([[1.0, 0.0]] * 9), [0] * 9, task="mrpc")["f1"] == 0.0
    metric = make_metric("GLUE", "", {"task": "sts-b"})
    assert np.isnan(metric.summarize([[1.0, 2.0], [1.0, 3.0]])["corr"])


def test_an_unknown_task_is_refused_with_the_nearest():
    with pytest.raises(BadValue, match="the nearest are mrpc") as refused:
        make_metric("GLUE", "", {"task": "mrcp"})
    assert "sts-b" in refused.value.fix
