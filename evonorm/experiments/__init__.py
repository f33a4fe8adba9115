"""Wiring of whole experiments from the lower floors."""

from evonorm.experiments.settings import read_settings as read_settings
from evonorm.experiments.settings import settings_to_table as settings_to_table
