"""Forms of jobs and nodes: intervals as `5m`, facts by name."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost, SnmpJobOid
from facho.core.interval import LONGEST, BadInterval, format_interval, parse_interval

if TYPE_CHECKING:
    _JobForm = forms.ModelForm[SnmpJob]
    _NodeForm = forms.ModelForm[SnmpJobHost]
    _JobOidForm = forms.ModelForm[SnmpJobOid]
else:
    _JobForm = _NodeForm = _JobOidForm = forms.ModelForm


class IntervalField(forms.CharField):
    """An interval as `30s`, `5m`, `1h` or `15 min`; None if it is empty and not required."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": 20, "widget": UnfoldAdminTextInputWidget, **kwargs})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse_interval(text)
        except BadInterval:
            said = {"text": text, "longest": format_interval(LONGEST)}
            raise forms.ValidationError(gettext(_BAD_INTERVAL) % said) from None


_BAD_INTERVAL: Any = _(
    "“%(text)s” is not an interval from 1s to %(longest)s: use a whole number and s, m, h or d, such as 5m"
)


class NumberField(forms.IntegerField):
    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        limits = [MinValueValidator(low), MaxValueValidator(high)]
        super().__init__(**{"validators": limits, "widget": UnfoldAdminIntegerFieldWidget, **kwargs})


class FactsField(forms.CharField):
    """Names separated by commas."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"required": False, "widget": UnfoldAdminTextInputWidget, **kwargs})

    def clean(self, value: Any) -> Any:
        return super().clean(value).replace(",", " ").split()


class JobForm(_JobForm):
    interval = IntervalField(label=capfirst(_("interval")), help_text=_("30s, 5m, 1h or 1d"))
    facts = FactsField(
        label=capfirst(_("facts")),
        help_text=_(
            "names separated by commas: serial, onu_rx_dbm, port.state; or optics, health, ports, autofind"
        ),
    )
    priority = NumberField(
        1,
        100,
        label=capfirst(_("priority")),
        required=False,
        help_text=_("1 to 100; empty: the default of its kind"),
    )
    max_attempts = NumberField(1, 32_767, label=capfirst(_("attempts")), required=False)
    retry_delay = IntervalField(
        label=capfirst(_("delay between attempts")), required=False, help_text=_("for example 2m")
    )
    task_type = forms.CharField(
        label=capfirst(_("task type")),
        required=False,
        max_length=60,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("the quota that its runs count for; empty: from its kind and facts"),
    )

    class Meta:
        model = SnmpJob
        fields = ("name", "brand", "kind", "master", "enabled")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        job = kwargs.get("instance")
        written = _initial_values(job) if job is not None and job.pk else {}
        super().__init__(*args, **{**kwargs, "initial": {**written, **(kwargs.get("initial") or {})}})


def _initial_values(job: SnmpJob) -> dict[str, Any]:
    return {
        "interval": format_interval(job.interval),
        "facts": ", ".join(job.facts),
        "priority": job.priority,
        "max_attempts": job.max_attempts,
        "retry_delay": format_interval(timedelta(seconds=job.retry_delay_s)),
        "task_type": job.task_type,
    }


class NodeForm(_NodeForm):
    interval = IntervalField(label=capfirst(_("own interval")), required=False)

    class Meta:
        model = SnmpJobHost
        fields = ("job", "olt", "enabled", "priority")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        node = kwargs.get("instance")
        written = {}
        if node is not None and node.interval_s:
            written["interval"] = format_interval(timedelta(seconds=node.interval_s))
        super().__init__(*args, **{**kwargs, "initial": {**written, **(kwargs.get("initial") or {})}})
        _disable_fields(self, "olt", "job")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        interval = given.get("interval")
        self.instance.interval_s = None if interval is None else int(interval.total_seconds())
        return given


class JobOidForm(_JobOidForm):
    class Meta:
        model = SnmpJobOid
        fields = ("oid",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _disable_fields(self, "oid")


def _disable_fields(form: forms.ModelForm[Any], *names: str) -> None:
    """Disable fields that cannot change after a row was added."""
    for name in names:
        if form.instance.pk and name in form.fields:
            form.fields[name].disabled = True
