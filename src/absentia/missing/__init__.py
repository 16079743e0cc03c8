"""Missingness: what is known about how the holes came about, and the law of the reach that follows."""

from absentia.missing.ampute import amputation, column_amputation
from absentia.missing.certify import certified, observed_histogram_reach
from absentia.missing.complete import Complete, without
from absentia.missing.counts import Counts, bounds, counts
from absentia.missing.designs import (
    planned,
    random_items,
    rotating_panel,
    rotation,
    split_questionnaire,
    subsampling,
    three_form,
)
from absentia.missing.gamma import Needed, Worse, gamma, gamma_curve, what_must_hold
from absentia.missing.independent import Independent, independent, independent_blocks
from absentia.missing.mixture import Mixture, classes, mixture, unit_nonresponse
from absentia.missing.models import PatternModel, mar, mnar_patterns
from absentia.missing.patterns import Patterns, patterns
from absentia.missing.process import Process, from_dict
from absentia.missing.product import Product, nonresponse_on, product
from absentia.missing.sampled import Sampled, matrix_sampling
from absentia.missing.selfmask import ColumnModel, mnar_censoring, mnar_logistic, mnar_self_masking

__all__ = [
    "ColumnModel",
    "Complete",
    "Counts",
    "Independent",
    "Mixture",
    "Needed",
    "PatternModel",
    "Patterns",
    "Process",
    "Product",
    "Sampled",
    "Worse",
    "amputation",
    "bounds",
    "certified",
    "classes",
    "column_amputation",
    "counts",
    "from_dict",
    "gamma",
    "gamma_curve",
    "independent",
    "independent_blocks",
    "mar",
    "matrix_sampling",
    "mixture",
    "mnar_censoring",
    "mnar_logistic",
    "mnar_patterns",
    "mnar_self_masking",
    "nonresponse_on",
    "observed_histogram_reach",
    "patterns",
    "planned",
    "product",
    "random_items",
    "rotating_panel",
    "rotation",
    "split_questionnaire",
    "subsampling",
    "three_form",
    "unit_nonresponse",
    "what_must_hold",
    "without",
]
