from tests.database.conftest import brands as brands
from tests.database.conftest import english as english
