"""Metrics of accuracy, by name: ``module:Class``."""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "modeldyno.datasets.metrics"

METRICS: Mapping[str, str | Mapping[str, str]] = {
    "Accuracy": f"{_HERE}.accuracy:Accuracy",
    "BLEU": f"{_HERE}.bleu:BLEU",
    "COCOmAP": f"{_HERE}.mean_average_precision:COCOMAP",
    "COCOmAPv2": f"{_HERE}.mean_average_precision:COCOMAPv2",
    "F1": f"{_HERE}.tokens:F1",
    "GLUE": f"{_HERE}.glue:GLUE",
    "Loss": f"{_HERE}.loss:Loss",
    "MAE": f"{_HERE}.distances:MAE",
    "MSE": f"{_HERE}.distances:MSE",
    "RMSE": f"{_HERE}.distances:RMSE",
    "ROC": f"{_HERE}.roc:ROC",
    "SquadF1": f"{_HERE}.squad:SquadF1",
    "VOCmAP": f"{_HERE}.mean_average_precision:VOCMAP",
    "fidelity": f"{_HERE}.fidelity:Fidelity",
    "mAP": f"{_HERE}.mean_average_precision:MAP",
    "mIOU": f"{_HERE}.segmentation:MIOU",
    "topk": f"{_HERE}.topk:TopK",
}
