package face

import (
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
