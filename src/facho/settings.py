"""The settings of Django, derived from those of facho (`facho.config`)."""

from pathlib import Path
from typing import Any

from facho import keys, masking
from facho.config import current
from facho.core.delay import Why
from facho.databases import database_settings
from facho.file_modes import set_private_umask

CONFIG = current()
# Every process with Django creates files, or SQLite does.
set_private_umask()
CONFIG.home.mkdir(parents=True, exist_ok=True)
masking.add_url_secrets(CONFIG.database, CONFIG.broker_url)
masking.add_secrets(CONFIG.remote_write_password, CONFIG.remote_write_token)

SECRET_KEY = keys.secret_key(CONFIG)
DEBUG = False
ALLOWED_HOSTS = [*CONFIG.allowed_hosts, "localhost", "127.0.0.1", "[::1]"]

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    # Does not load the pages of the admin: only the web needs them, and loads them in urls.py.
    "facho.web.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "facho.apps.access",
    "facho.apps.hosts",
    "facho.apps.snmp_jobs",
    "facho.apps.executions",
    "facho.apps.discovery",
    "facho.apps.chassis",
    "facho.apps.history",
    "facho.apps.traffic",
    "facho.apps.remote_write",
    "facho.apps.zabbix_pollers",
    "facho.apps.maintenance",
    "facho.apps.execution_coordinator",
    "facho.apps.notifications",
    "facho.web",
]
MIDDLEWARE = [
    "facho.web.server.query_limits.release_connection",
    "facho.web.server.health_check.HealthCheck",
    "facho.web.access.proxies.drop_untrusted_scheme",
    "facho.web.access.headers.headers",
    "django.middleware.security.SecurityMiddleware",
    "facho.web.server.static_files.StaticFiles",
    "facho.web.throttles.throttle",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "facho.web.server.query_strings.refuse_long_queries",
    "facho.web.server.query_strings.refuse_nul",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "facho.web.access.recording.Recording",
    "facho.web.access.sessions.same_role",
    "facho.web.server.time_zones.use_zone_of_user",
    "facho.web.components.shared_part.forget_after_changes",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "facho.web.server.refusals.RefusalPages",
]
ROOT_URLCONF = "facho.urls"
ASGI_APPLICATION = "facho.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # A folder for each page, before those of the apps: ours replace some templates of the admin.
        "DIRS": sorted((Path(__file__).parent / "web").glob("*/templates")),
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"facho": "facho.web.components.filters"},
        },
    }
]
DATABASES = {"default": database_settings(CONFIG.database)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
CSRF_FAILURE_VIEW = "facho.web.access.error_pages.csrf_failed"
AUTHENTICATION_BACKENDS = ["facho.web.access.accounts.Accounts"]
SESSION_ENGINE = "facho.web.access.session_store"
SESSION_COOKIE_AGE = int(CONFIG.session_age.total_seconds())
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_TRUSTED_ORIGINS = [
    # A name with a dot in front stands for its subdomains. "*" must not make every origin trusted.
    f"{'https' if CONFIG.tls else 'http'}://{'*' if host.startswith('.') else ''}{host}"
    for host in CONFIG.allowed_hosts
    if host != "*"
]
# facho.web.access.proxies removes this header from requests of other machines than trusted proxies.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
if CONFIG.tls:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    # Programs on this machine read it past the proxy; /health is answered before the redirect.
    SECURE_REDIRECT_EXEMPT = ["^metrics$"]
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    # Whether browsers preload HSTS is the decision of the owner of the domain.
    SILENCED_SYSTEM_CHECKS = ["security.W021"]
DATA_UPLOAD_MAX_MEMORY_SIZE = CONFIG.body_bytes
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "dashboard"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = CONFIG.language
LANGUAGES = [("es", "Español"), ("en", "English")]
FORMAT_MODULE_PATH = "facho.web.components.formats"
LOCALE_PATHS = [Path(__file__).parent / "web" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = CONFIG.time_zone.key

STATIC_URL = "static/"
# Static files are served from the packages, without collectstatic.
WHITENOISE_USE_FINDERS = True

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "facho.web.api.authentication.BearerToken",
        "facho.web.api.authentication.BrowserSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["facho.web.api.permissions.ByRole"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["facho.web.api.json_parser.LimitedJson"],
    "DEFAULT_THROTTLE_CLASSES": ["facho.web.api.throttling.AuthenticatedThrottle"],
    # Throttle by the connected address: a header can be forged.
    "NUM_PROXIES": 0,
    "DEFAULT_PAGINATION_CLASS": "facho.web.api.pagination.KeysetPagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "facho.web.api.schema.Description",
    "EXCEPTION_HANDLER": "facho.web.api.problems.handle_exception",
    "DEFAULT_VERSIONING_CLASS": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Facho Deluxe",
    "DESCRIPTION": "The data collected from OLTs, the state of the collection, and the actions of operators.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["facho.web.api.permissions.AnyRole"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # The page shows the groups first: a browser takes a minute to draw all operations at once.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "docExpansion": "none", "defaultModelsExpandDepth": 0},
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    # Names for choices that several columns share.
    "ENUM_NAME_OVERRIDES": {
        "PlanStatus": "facho.apps.execution_coordinator.models.PlanStatus",
        "PollerStatus": "facho.apps.zabbix_pollers.models.PollerStatus",
        "QuotaStatus": "facho.apps.execution_coordinator.models.QuotaStatus",
        "ExecutionState": "facho.apps.executions.models.State",
        "JobKind": "facho.apps.snmp_jobs.models.JobKind",
        "Severity": "facho.apps.execution_coordinator.models.ViolationSeverity",
        "TokenState": "facho.apps.access.models.TokenState",
        "Why": [why.value for why in Why],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "facho.web.api.schema.with_problems",
    ],
}

# The look of the admin and of the other pages. Nothing is loaded from other servers.
UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Facho Deluxe",
    "SITE_HEADER": "Facho Deluxe",
    "SITE_URL": "/",
    "SITE_SYMBOL": "lan",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": f"/{STATIC_URL}facho/icon.svg"}],
    "SHOW_LANGUAGES": True,
    "STYLES": [f"/{STATIC_URL}facho/{name}.css" for name in ("colours", "admin", "freshness")],
    "SCRIPTS": [f"/{STATIC_URL}facho/{name}.js" for name in ("search", "frame", "live", "ages")],
    # Lighter than the default, which has too little contrast for small text in dark mode.
    "COLORS": {"primary": {"500": "oklch(67% .24 304.4)"}},
    "SIDEBAR": {"navigation": "facho.web.navigation.sidebar"},
    "ACCOUNT": {"navigation": "facho.web.navigation.account_links"},
}

# Each process sets up logging itself (`facho.logs`).
LOGGING_CONFIG = None
