from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from state_machine.values.local_time import local_day, zone_of

WINTER, SUMMER = datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 12, 1, 12, tzinfo=UTC)
WEST = ("1300201", "1300607", "1300706", "1301407", "1301506", "1301654", "1301803", "1301951", "1302306", "1302405")
BY_HOURS = {
    -5: ("1200401", *WEST, "1303502", "1303908", "1304062"),
    -4: ("1100205", "1302603", "1400100", "5002704", "5103403"),
    -3: ("1501402", "3550308", "2304400", "2611606", "5300108"),
    -2: ("2605459",),
}


@pytest.mark.parametrize(("city", "hours"), [(city, hours) for hours, cities in BY_HOURS.items() for city in cities])
def test_a_city_has_the_time_of_its_state_or_its_own(city, hours):
    """By the IBGE code: the state's two digits, save in the west of Amazonas and in Fernando de Noronha."""
    assert {at.astimezone(zone_of(city)).utcoffset() for at in (WINTER, SUMMER)} == {timedelta(hours=hours)}


@pytest.mark.parametrize(
    ("city", "moment", "day"),
    [
        ("1200401", "2026-12-01T04:59:59+00:00", date(2026, 11, 30)),
        ("1200401", "2026-12-01T05:00:00+00:00", date(2026, 12, 1)),
        ("1302603", "2026-12-01T03:59:59+00:00", date(2026, 11, 30)),
        ("1302603", "2026-12-01T04:00:00+00:00", date(2026, 12, 1)),
        ("3550308", "2026-12-01T02:59:59+00:00", date(2026, 11, 30)),
        ("3550308", "2026-12-01T03:00:00+00:00", date(2026, 12, 1)),
        ("2605459", "2026-12-01T02:30:00+00:00", date(2026, 11, 30)),
        ("2605459", "2026-12-01T03:00:00+00:00", date(2026, 12, 1)),
    ],
)
def test_a_day_ends_at_the_citys_midnight_and_never_before_sao_paulos(city, moment, day):
    """Documents are dated in the time of São Paulo, and no competence may be after them."""
    assert local_day(city, datetime.fromisoformat(moment)) == day
