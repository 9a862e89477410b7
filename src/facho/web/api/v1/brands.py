"""Brands and OLT models."""

from __future__ import annotations

from typing import ClassVar

from django_filters import rest_framework as filters
from rest_framework import serializers

from facho.apps.hosts.models import Brand, OltModel
from facho.web.api.base import ReadOnlyRows


class BrandSerializer(serializers.ModelSerializer[Brand]):
    class Meta:
        model = Brand
        fields = ("id", "name", "title")


class BrandFilter(filters.FilterSet):
    class Meta:
        model = Brand
        fields = ("name",)


class Brands(ReadOnlyRows[Brand]):
    about = "hosts.brand"
    queryset = Brand.objects.all()
    serializer_class = BrandSerializer
    filterset_class = BrandFilter
    orderings: ClassVar = ("name", "id")


class ModelSerializer(serializers.ModelSerializer[OltModel]):
    brand_name = serializers.CharField(source="brand.name", read_only=True)

    class Meta:
        model = OltModel
        fields = ("id", "brand", "brand_name", "name")


class ModelFilter(filters.FilterSet):
    class Meta:
        model = OltModel
        fields = ("brand", "name")


class Models(ReadOnlyRows[OltModel]):
    about = "hosts.oltmodel"
    queryset = OltModel.objects.select_related("brand")
    serializer_class = ModelSerializer
    filterset_class = ModelFilter
    orderings: ClassVar = ("name", "id")
