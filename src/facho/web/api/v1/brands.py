"""Brands and OLT models."""

from __future__ import annotations

from typing import ClassVar

from rest_framework import serializers

from facho.apps.hosts.models import Brand, OltModel
from facho.vendors.library import profile_origin
from facho.web.api.base import ReadOnlyRows


class BrandSerializer(serializers.ModelSerializer[Brand]):
    profile = serializers.SerializerMethodField(
        help_text="where its profile is from: builtin, own, own-in-place-of-builtin, builtin-in-place-of-own "
        "(the own one has mistakes), unusable or none"
    )

    class Meta:
        model = Brand
        fields = ("id", "name", "title", "profile")

    def get_profile(self, brand: Brand) -> str:
        return profile_origin(brand.name).value


class Brands(ReadOnlyRows[Brand]):
    about = "hosts.brand"
    queryset = Brand.objects.all()
    serializer_class = BrandSerializer
    filterset_fields: ClassVar = ("name",)
    orderings: ClassVar = ("name", "id")


class ModelSerializer(serializers.ModelSerializer[OltModel]):
    brand_name = serializers.CharField(source="brand.name", read_only=True)

    class Meta:
        model = OltModel
        fields = ("id", "brand", "brand_name", "name")


class Models(ReadOnlyRows[OltModel]):
    about = "hosts.oltmodel"
    queryset = OltModel.objects.select_related("brand")
    serializer_class = ModelSerializer
    filterset_fields: ClassVar = ("brand", "name")
    orderings: ClassVar = ("name", "id")
