"""API tokens. The secret is shown once, in the answer that creates the token."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.access.models import ApiToken, RoleName, TokenState
from facho.apps.access.selectors import in_state, tokens_seen_by
from facho.apps.db.database import database_now
from facho.core.roles import Role
from facho.engine.commands.errors import CommandError
from facho.engine.commands.tokens import create_token, revoke_tokens
from facho.web.api.authentication import role_of_request
from facho.web.api.base import ReadOnlyRows, no_content


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    owner_name = serializers.CharField(source="owner.username", read_only=True)
    state = serializers.SerializerMethodField()

    class Meta:
        model = ApiToken
        fields = (
            "id", "owner", "owner_name", "name", "role", "begins", "state", "created_at", "expires_at",
            "revoked_at", "last_used_at",
        )  # fmt: skip

    def get_state(self, token: ApiToken) -> TokenState:
        return token.state_at(timezone.now())


class NewTokenSerializer(serializers.Serializer[Any]):
    """A token to create. Without `expires_at` it is valid as long as the settings say."""

    # Only administrators create tokens for others.
    owner = serializers.IntegerField(required=False, min_value=1)
    name = serializers.CharField(max_length=80)
    role = serializers.ChoiceField(RoleName.choices)
    expires_at = serializers.DateTimeField(required=False)


class MadeTokenSerializer(TokenSerializer):
    # Stored nowhere: no other answer has it.
    token = serializers.CharField(read_only=True)

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "token")  # type: ignore[assignment]  # one more


class TokenFilter(filters.FilterSet):
    state = filters.ChoiceFilter(choices=TokenState.choices, method="is_in_state")

    class Meta:
        model = ApiToken
        fields = ("owner", "role")

    def is_in_state(self, rows: QuerySet[ApiToken], _name: str, wanted: str) -> QuerySet[ApiToken]:
        return rows.filter(in_state(wanted, timezone.now()))


class Tokens(ReadOnlyRows[ApiToken]):
    """Your own tokens; administrators see and revoke all. With a token you can only read this list."""

    about = "access.apitoken"
    queryset = ApiToken.objects.select_related("owner")
    serializer_class = TokenSerializer
    filterset_class = TokenFilter
    orderings: ClassVar = ("id", "name", "expires_at", "last_used_at")

    def get_queryset(self) -> QuerySet[ApiToken]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return tokens_seen_by(self.request.user, role_of_request(self.request))

    @extend_schema(request=NewTokenSerializer, responses={status.HTTP_201_CREATED: MadeTokenSerializer})
    def create(self, request: Request) -> Response:
        """Create a token with at most your own role. Needs a log-in, not a token."""
        serializer = NewTokenSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = serializer.validated_data
        role = role_of_request(request)
        made = create_token(
            _token_owner(request, role, given.get("owner")),
            given["name"],
            given["role"],
            database_now(),
            expires_at=given.get("expires_at"),
            asked_by=role,
        )
        shown = {**TokenSerializer(made.token).data, "token": made.secret}
        return Response(shown, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})

    @extend_schema(responses={status.HTTP_204_NO_CONTENT: None})
    def destroy(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Revoke a token. It stays in the list for a while. Needs a log-in, not a token."""
        revoke_tokens([self.get_object().pk], database_now())
        return no_content()


def _token_owner(request: Request, role: Role | None, wanted: int | None) -> User:
    if wanted is None or wanted == request.user.pk:
        return request.user  # type: ignore[return-value]  # nobody else gets here
    if role is not Role.ADMINISTRATOR:
        raise CommandError("owner", _("only administrators can create tokens for others"))
    owner = User.objects.filter(id=wanted).first()
    if owner is None:
        raise CommandError("owner", _("there is no such user"))
    return owner
