"""API tokens. The secret is shown once, on the page that creates the token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from facho.apps.access.models import ApiToken, LoginAddress, LoginAttempt, RoleName, TokenState
from facho.apps.access.selectors import in_state, role_of, tokens_seen_by
from facho.apps.db.database import database_now
from facho.config import current
from facho.core.roles import Role, role_named
from facho.engine.commands.tokens import create_token, revoke_tokens
from facho.web.admin.base import FachoModelAdmin, M, ReadOnlyAdmin, show_outcome, site
from facho.web.admin.columns import display
from facho.web.admin.confirmation import asks_why
from facho.web.admin.filters import list_filter, recent_filter

if TYPE_CHECKING:
    _Form = ModelForm[ApiToken]
else:
    _Form = ModelForm

_STATE_COLOURS = {
    TokenState.VALID: "success",
    TokenState.EXPIRED: "default",
    TokenState.REVOKED: "danger",
}


class TokenForm(_Form):
    class Meta:
        model = ApiToken
        fields = ("owner", "name", "role", "expires_at")

    def _post_clean(self) -> None:
        """Skip the checks of the model: the command checks everything."""


_STATE_FILTER = list_filter(
    "state",
    _("state"),
    lambda _model: TokenState.choices,
    lambda tokens, state: tokens.filter(in_state(state, timezone.now())),
)


@admin.register(ApiToken)
class ApiTokenAdmin(FachoModelAdmin[ApiToken]):
    form = TokenForm
    list_display = ("name", "owner", "role", "begins", "state", "expires_at", "last_used_at")
    list_filter = (_STATE_FILTER, "role")
    search_fields = ("name", "owner__username")
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        return tokens_seen_by(request.user, role_of(request.user)).order_by("owner__username", "name")

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> tuple[str, ...]:
        if obj is not None:
            return (
                "name",
                "owner",
                "role",
                "begins",
                "created_at",
                "expires_at",
                "revoked_at",
                "last_used_at",
            )
        # Only administrators create tokens for others.
        is_for_others = role_of(request.user) is Role.ADMINISTRATOR
        return (*(("owner",) if is_for_others else ()), "name", "role", "expires_at")

    def get_form(
        self, request: HttpRequest, obj: ApiToken | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if obj is None:
            form.base_fields["role"].choices = _roles_up_to(role_of(request.user))
            form.base_fields["expires_at"].initial = timezone.now() + current().token_lasts
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"owner": request.user.pk, **super().get_changeform_initial_data(request)}

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:  # noqa: ARG002
        """Tokens are revoked, not deleted, and stay in the list for a while."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("access.delete_apitoken")

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:  # noqa: ARG002
        given = form.cleaned_data
        made = create_token(
            given.get("owner") or User.objects.get(username=request.user.username),
            given["name"],
            given["role"],
            database_now(),
            expires_at=given["expires_at"],
        )
        obj.__dict__.update(made.token.__dict__)
        request.made = made  # type: ignore[attr-defined]  # shown by response_add

    def response_add(
        self,
        request: HttpRequest,
        obj: ApiToken,
        post_url_continue: str | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Show the secret without a redirect, which would have to store it."""
        context = {
            **site.each_context(request),
            "title": gettext("The new token"),
            "opts": self.opts,
            "token": obj,
            "secret": request.made.secret,  # type: ignore[attr-defined]  # set by save_model
        }
        return TemplateResponse(request, "facho_admin/new_token.html", context)

    @display(description=_("state"), ordering="expires_at", label=_STATE_COLOURS)
    def state(self, token: ApiToken) -> tuple[str, str]:
        state = token.state_at(timezone.now())
        return state, str(state.label)

    def effect_of_revoke(self, _tokens: QuerySet[ApiToken]) -> str:
        return gettext("Programs that use it are refused from now on. This cannot be undone.")

    @asks_why
    @admin.action(description=_("Revoke…"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiToken]) -> None:
        show_outcome(request, lambda: _revoke_chosen(chosen))


def _revoke_chosen(chosen: QuerySet[ApiToken]) -> str:
    count = revoke_tokens(list(chosen.values_list("id", flat=True)), database_now())
    return ngettext("%(count)d was revoked.", "%(count)d were revoked.", count) % {"count": count}


def _roles_up_to(most: Role | None) -> list[tuple[str, Any]]:
    named = {slug: label for slug, label in RoleName.choices if (role_named(slug) or 0) <= (most or 0)}
    return list(named.items())


@admin.register(LoginAttempt, LoginAddress)
class LoginAdmin(ReadOnlyAdmin[M]):
    list_display = ("at", "user", "address")
    list_select_related = ("user",)
    list_filter = (recent_filter("at", _("at")),)
    search_fields = ("user__username", "address")
    fields = ("at", "user", "address")
