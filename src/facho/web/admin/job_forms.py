"""Forms of jobs and nodes: intervals as `5m`, facts by name."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from facho.apps.hosts.models import Brand, Olt
from facho.apps.hosts.selectors import facts_of_own_oids
from facho.apps.reason_words import reason_words
from facho.apps.snmp_jobs.models import JobTarget, SnmpJob, SnmpJobHost, SnmpJobOid
from facho.core.interval import BadInterval, interval_words, parse_interval
from facho.vendors import GENERIC
from facho.web.words.fact_choices import pick_facts

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
        except BadInterval as error:
            raise forms.ValidationError(reason_words(error.reason)) from None


class SecondsField(IntervalField):
    """An interval that is stored in seconds; a mere number is seconds too."""

    def clean(self, value: Any) -> int | None:
        text = str(value or "").strip()
        interval = super().clean(f"{text} s" if text.isdecimal() else text)
        return None if interval is None else int(interval.total_seconds())

    def prepare_value(self, value: Any) -> Any:
        return interval_words(timedelta(seconds=value)) if isinstance(value, int) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.clean(data) != initial)
        except forms.ValidationError:
            return True


class NumberField(forms.IntegerField):
    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        limits = [MinValueValidator(low), MaxValueValidator(high)]
        super().__init__(**{"validators": limits, "widget": UnfoldAdminIntegerFieldWidget, **kwargs})


class FactsPicker(forms.Widget):
    """Boxes of all facts by name, each with the families that have it."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:  # noqa: ARG002
        groups = pick_facts(value, set().union(*facts_of_own_oids().values()))
        return render_to_string("facho_admin/facts_picker.html", {"name": name, "groups": groups})

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:  # noqa: ARG002
        """Return the ticked facts; a text with commas is split."""
        given = data.getlist(name) if hasattr(data, "getlist") else [data.get(name) or ""]
        return [fact for text in given for fact in str(text).replace(",", " ").split()]

    def id_for_label(self, id_: str) -> str:  # noqa: ARG002  the label is of many boxes
        return ""


class FactsField(forms.Field):
    """The names of the facts. The command checks them."""

    widget = FactsPicker

    def has_changed(self, initial: Any, data: Any) -> bool:
        # The boxes have an order of their own, which is no change of the job.
        return set(initial or ()) != set(data or ())


class JobForm(_JobForm):
    interval = IntervalField(label=capfirst(_("interval")), help_text=_("for example 15 min, 1 h or 1 d"))
    facts = FactsField(
        label=capfirst(_("facts")), required=False, help_text=_("a set has all that each family has of it")
    )
    target = forms.ChoiceField(
        label=capfirst(_("target")),
        choices=JobTarget.choices,
        initial=JobTarget.SELECTION,
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=_("OLTs that are added later are included, except with chosen OLTs"),
    )
    site = forms.CharField(
        label=capfirst(_("site")),
        required=False,
        max_length=80,
        widget=UnfoldAdminSelectWidget,
        help_text=_("only for the OLTs of a site"),
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
        label=capfirst(_("delay between attempts")), required=False, help_text=_("for example 2 min")
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
        if "brand" in self.fields:
            self.fields["brand"].required = False
            self.fields["brand"].help_text = _("empty: any brand")
        if "site" in self.fields:
            self.fields["site"].widget.choices = _sites(job.target_site if job else "")

    def clean_brand(self) -> Brand:
        """An empty brand is any: the generic one."""
        return self.cleaned_data["brand"] or Brand.objects.get(name=GENERIC)

    def clean_target(self) -> str:
        return self.cleaned_data["target"] or self.initial.get("target") or JobTarget.SELECTION.value


def _sites(own: str) -> list[tuple[str, str]]:
    names = Olt.objects.exclude(site="").order_by("site").values_list("site", flat=True).distinct()
    return [("", "-"), *((name, name) for name in dict.fromkeys([*names, *filter(None, [own])]))]


def _initial_values(job: SnmpJob) -> dict[str, Any]:
    return {
        "interval": interval_words(job.interval),
        "facts": job.facts,
        "target": job.target,
        "site": job.target_site,
        "priority": job.priority,
        "max_attempts": job.max_attempts,
        "retry_delay": interval_words(timedelta(seconds=job.retry_delay_s)),
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
            written["interval"] = interval_words(timedelta(seconds=node.interval_s))
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
