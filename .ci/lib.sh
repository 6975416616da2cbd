# shellcheck shell=bash
# lib.sh - sourced by run and nightly: install what they need, run checks and tests, count, close with one line.
# Every check and every run of tests goes on after a failure, so that one run shows all that is wrong.

golangci_version=v2.15.0
kustomize_version=v5.8.1
kube_score_version=v1.20.0
govulncheck_version=v1.9.0
cache=${DIVVY_CI_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/divvy-ci} # tools, kept between runs
tags=$(sed -n 's/^  build-tags: \[\(.*\)\]$/\1/p' .golangci.yml | tr -d ' ') # what needs more than Go and PostgreSQL
containers=${DIVVY_CONTAINERS:-../shared/tools/containers}                # makes an engine on machines without one
clients=${DIVVY_PANDA_CLIENTS:-../shared/clients}                         # PanDA's pilot and panda-client, on machines that have them
clusters=${DIVVY_CLUSTER_TOOLS:-../shared/tools/clusters}                # workflow engines that speak to batch systems, on machines that have them
export DIVVY_RELEASES=${DIVVY_RELEASES:-$cache/releases} # the release before, as the upgrade test built it
work=$(mktemp -d "${TMPDIR:-/tmp}/divvy-ci.XXXXXX")
totals=$work/totals
: >"$totals"

export GOFLAGS=${GOFLAGS:--trimpath} # so that what another clone has compiled need not be compiled again
export CGO_ENABLED=0                 # as what is released, so that the image and the tests are of one compilation; race needs cgo

say() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# close prints the last line, whatever ended the run, and makes the exit code follow it.
close() {
  local code=$?
  trap - EXIT
  if [[ -n ${aside:-} ]]; then pkill -P "$aside" || true; wait "$aside" || true; fi
  if ((code)); then echo "0 1" >>"$totals"; echo "ended early, exit code $code"; fi
  stop_engine
  read -r passed failed < <(awk '{p += $1; f += $2} END {print p + 0, f + 0}' "$totals")
  if [[ -s $totals.failed ]]; then printf '\nOnce more, what failed:\n'; cat "$totals.failed"; fi
  rm -rf "$work"
  printf '\n%d s\n%d passed, %d failed\n' "$SECONDS" "$passed" "$failed"
  exit "$((failed > 0 || passed == 0))"
}
trap close EXIT
trap 'exit 130' INT TERM

# check NAME COMMAND... : one check that is no test; counts as one. A command that could look at nothing says so by skip, and counts
# neither as passed nor as failed.
check() {
  local name=$1 start=$SECONDS; shift
  say "$name"
  skipped=
  if ! "$@"; then echo "0 1" >>"$totals"; echo "FAILED: $name"
  elif [[ -n $skipped ]]; then echo "SKIPPED: $name: $skipped"
  else echo "1 0" >>"$totals"; echo "ok, $((SECONDS - start)) s"; fi
}

# skip REASON : for a command of check, which returns after it. Not from a subshell: there nobody hears it.
skip() { skipped=$1; }

# tests NAME ARGUMENTS... : go test with these arguments; each test counts. runs_in is a script that it runs in. Static vets all packages.
tests() {
  local name=$1; shift
  say "$name: go test $*"
  counted "$name" ${runs_in:-} go test -json -count=1 -vet=off "$@"
}

# e2e NAME FLAGS... : tests of internal/e2e that have a tag, out of one binary of all tags: to link it takes as long as some of them.
e2e() {
  local name=$1; shift
  say "$name: internal/e2e $*"
  counted "$name" go -C internal/e2e tool test2json -t -p github.com/divvyhq/divvy/internal/e2e "$work/e2e.test" -test.v=test2json -test.paniconexit0 "${@/#-/-test.}"
}

# counted NAME COMMAND... : a command that prints what go test -json does. budget is what a package and a test may take, as tally has it.
counted() {
  local name=$1 ours; shift
  ours=$(wc -l <"$totals")
  # A failed test makes both fail, and is in the totals already.
  if ! "$@" | "$work/tally" -totals "$totals" ${budget:-} "$name"; then
    if (($(wc -l <"$totals") == ours)); then echo "0 1" >>"$totals"; fi
    echo "FAILED: $name"
  fi
}

# waiting : what waits most of the time: for terms to run out, for PanDA's pilots, which rest by minutes, for what dies, for images.
waiting() { failover; pilots; provisioned; python; issuer; dying; }

# dying : whatever dies, and then a recount; and the release before beside this one. Where nothing may be mounted, the play of the full
# disk says SKIPPED. Then what needs containers.
dying() {
  e2e "chaos" -timeout 15m -parallel 2 -run 'TestChaos|TestUpgrade|TestDatabaseClock'
  engine
  if [[ -z $engine_up ]]; then return; fi
  from_container "testcontainers" ./internal/pgtest
  tests "statements on PostgreSQL 17" -run TestStatementsPrepare ./internal/house
  tests "deploy" -tags deploy -timeout 20m ./deploy # nightly has Docker compile what the image is made of
}

# beside COMMAND : runs it beside what follows, until joined, which prints what it said. For what waits most of the time.
beside() {
  (trap stop_engine EXIT; totals=$work/aside; : >"$totals"; rm -f "$totals.failed"; "$@") >"$work/aside.said" 2>&1 &
  aside=$!
}

joined() {
  wait "$aside" || echo "0 1" >>"$totals"
  aside=
  cat "$work/aside.said"
  cat "$work/aside" >>"$totals"
  if [[ -s $work/aside.failed ]]; then cat "$work/aside.failed" >>"$totals.failed"; fi
}

# quick : everybody's go test ./... . On two slow cores cmd/divvy and internal/e2e take four to five minutes beside the others, so they begin.
quick() { local budget='-package 6m -test 2m'; tests "tests" ./internal/e2e ./cmd/divvy/serve ./cmd/divvy ./...; }

apt_install() {
  say "apt-get install $*"
  local root=(); [[ $(id -u) = 0 ]] || root=(sudo)
  "${root[@]}" timeout 300 apt-get -qq -o DPkg::Lock::Timeout=120 update
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends "$@" >/dev/null
}

# needs : the packages that are missing. PostgreSQL without the cluster that Debian would start.
needs() {
  local missing=()
  command -v gcc >/dev/null || missing+=(gcc libc6-dev) # for -race
  if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && ! command -v initdb >/dev/null && [[ -z ${DIVVY_PGBIN:-} ]]; then
    if [[ $(id -u) = 0 && ! -e /etc/postgresql-common/createcluster.conf ]]; then
      mkdir -p /etc/postgresql-common
      echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    fi
    missing+=(postgresql-15)
  fi
  command -v faketime >/dev/null || missing+=(faketime) # clocks that leap
  command -v systemd-analyze >/dev/null || missing+=(systemd) # to read units; nothing of it is started
  # Failover: Debian would start an etcd and, once configured, a Patroni. Tests start their own.
  if ! command -v patroni >/dev/null || ! command -v etcd >/dev/null; then missing+=(patroni etcd-server curl); fi
  command -v pgbouncer >/dev/null || [[ -x /usr/sbin/pgbouncer ]] || missing+=(pgbouncer) # tests start their own
  command -v promtool >/dev/null || missing+=(prometheus) # its server is not started: no tests need it
  if ! command -v "${DIVVY_CHROMIUM:-chromium}" chromium-browser google-chrome headless-shell >/dev/null; then missing+=(chromium fonts-dejavu-core); fi
  if [[ -d $clients ]] && ! /usr/bin/python3 -c 'import psutil' 2>/dev/null; then missing+=(python3 python3-psutil curl openssl); fi
  if ! command -v mypy >/dev/null || ! /usr/bin/python3 -c 'import setuptools, wheel, pip, ensurepip, cloudpickle' 2>/dev/null; then
    missing+=(mypy python3-cloudpickle python3-pip python3-setuptools python3-venv python3-wheel)
  fi
  if ((${#missing[@]})); then apt_install "${missing[@]}"; fi
  if [[ " ${missing[*]-} " = *" etcd-server "* && -d /run/systemd/system && $(id -u) = 0 ]]; then systemctl disable --now etcd patroni || true; fi
  if [[ " ${missing[*]-} " = *" pgbouncer "* && -d /run/systemd/system && $(id -u) = 0 ]]; then systemctl disable --now pgbouncer || true; fi
}

# linter : golangci-lint, built once a version and kept. It is no tool of go.mod: its three hundred modules would be
# in everybody's way.
linter() {
  golangci=$cache/golangci-lint-$golangci_version-$(go env GOVERSION)/golangci-lint
  if [[ ! -x $golangci ]]; then
    say "building golangci-lint $golangci_version"
    GOBIN=$(dirname "$golangci") GOFLAGS='' go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$golangci_version"
  fi
}

# built NAME PACKAGE VERSION : a program of others, built once a version and kept, in PATH.
built() {
  local dir=$cache/$1-$3-$(go env GOVERSION)
  if [[ ! -x $dir/$1 ]]; then
    say "building $1 $3"
    GOBIN=$dir GOFLAGS='' go install "$2@$3"
  fi
  PATH=$dir:$PATH
}

# manifests : what Kubernetes and systemd are given is what they understand, and as closed as it can be.
manifests() {
  built kustomize sigs.k8s.io/kustomize/kustomize/v5 "$kustomize_version"
  built kube-score github.com/zegl/kube-score/cmd/kube-score "$kube_score_version"
  tests "Kubernetes and systemd" -tags manifests -run 'Kubernetes|Systemd' ./deploy
}

# vulnerable : faults that are known of what divvy is built from and calls. The list of them is at vuln.go.dev; where that is not
# reached, it is skipped.
vulnerable() {
  built govulncheck golang.org/x/vuln/cmd/govulncheck "$govulncheck_version"
  if ! curl -fsS -m 20 -o /dev/null https://vuln.go.dev/index/db.json; then
    skip "https://vuln.go.dev is not reached from here"; return
  fi
  govulncheck ./...
}

formatted() {
  local files
  files=$(git ls-files '*.go' '.ci/*.go' | sort -u | xargs -r gofmt -l)
  [[ -z $files ]] || { echo "gofmt would change:"; echo "$files"; return 1; }
}

# engine : a Docker engine and the images that Dockerfile and tests start from. Where ../shared is present there
# must be one; elsewhere it is used when it answers. engine_up says which.
# shellcheck disable=SC2034
engine() {
  local exports
  engine_up=
  if [[ -x $containers/engine.sh ]]; then
    say "starting a Docker engine"
    docker version >/dev/null 2>&1 || "$containers/engine.sh" status >/dev/null || engine_started=yes
    exports=$("$containers/engine.sh" start)
    eval "$exports"
    # All containers together have the share of CPU of one process outside of them, which is little beside go test: give them that of eight.
    if mkdir -p /sys/fs/cgroup/cpu/docker; then echo 8192 >/sys/fs/cgroup/cpu/docker/cpu.shares; fi 2>/dev/null || true
    "$containers/postgres-image.sh" postgres:17-alpine
    "$containers/base-images.sh" ${DIVVY_LONG:+golang=golang:1.26} static=gcr.io/distroless/static-debian12:nonroot busybox=busybox:1.37
    engine_up=yes
  elif docker version >/dev/null 2>&1; then
    engine_up=yes
  else
    say "no Docker engine here: the image, compose and testcontainers are NOT tested"
  fi
}

# from_container NAME ARGUMENTS... : tests whose PostgreSQL must have come from a container.
from_container() {
  local since; since=$(date +%s)
  tests "$@"
  check "$1: the server was a container" started_since "$since"
}

stop_engine() { if [[ -n ${engine_started:-} ]]; then "$containers/engine.sh" stop || true; fi; }

started_since() {
  [[ -n $(docker events --since "$1" --until "$(date +%s)" --filter event=start --filter image=postgres:17-alpine --format '{{.ID}}') ]]
}

prepare() {
  needs
  go version
  go build -o "$work/tally" .ci/tally.go
  go mod download
  linter
  check "what internal/e2e runs" e2e_built
}

# e2e_built : divvy and the tests of it as a whole, linked once.
e2e_built() {
  export DIVVY_TEST_PROGRAM=$work/divvy
  go build -o "$DIVVY_TEST_PROGRAM" ./cmd/divvy && go test -c -vet=off -tags "$tags" -o "$work/e2e.test" ./internal/e2e
}

# bundled : the page's scripts are what their sources make. The packages that they need come by npm, where there is one.
bundled() {
  if ! command -v npm >/dev/null; then skip "no npm here"; return; fi
  go -C api/web/bundle vet . && go -C api/web/bundle run . -check ../src ../assets
}

# browser : the page in a Chromium, and its pictures, which are left in report/screenshots; alerts and dashboards, which are of the same package.
browser() {
  DIVVY_SCREENSHOTS=$PWD/report/screenshots tests "browser, alerts and dashboards" -tags browser,promtool ./cmd/divvy/serve -run 'TestBrowser|Promtool'
}

# failover : a PostgreSQL of two nodes under Patroni, killed and switched over. run has the short form.
failover() { e2e "failover" -timeout 20m -run TestPatroni "$@"; }

# failover_17 : the same with what Debian 13 has, which is run without being installed.
failover_17() { local runs_in=.ci/trixie; tests "failover with PostgreSQL 17" -tags chaos -timeout 20m -run TestPatroni "$@" ./internal/e2e; }

# pilots : PanDA's pilot and prun as their projects publish them. They are no part of this repository, and need namespaces: that pilot ends
# processes of others.
pilots() {
  local name="PanDA's own pilot and prun"
  if [[ ! -x $clients/run_pilot.sh ]]; then check "$name" skip "$clients (DIVVY_PANDA_CLIENTS) is not here: they are NOT tested"
  elif ! unshare --pid --fork --mount-proc --kill-child true; then check "$name" skip "no PID namespace can be made here: they are NOT tested"
  else DIVVY_PANDA_CLIENTS=$(realpath "$clients") e2e "$name" -parallel 6 -timeout 15m -run TestPandaPilot
  fi
}

# python : the Python client: its types, and its tests, page and examples against a daemon. Jobs start an interpreter each.
python() {
  check "mypy" mypy --config-file api/python/pyproject.toml --cache-dir "$work/mypy" api/python/divvy
  e2e "Python" -timeout 15m -run TestPython
}

# issuer : people log in at an issuer that others wrote, a module of its own.
issuer() { e2e "issuer" -timeout 10m -run TestIssuer; }

# engines : workflow engines of Debian, which take divvy for Slurm, and arrays beside a real one. They wait for minutes between looks, and are nightly's.
engines() {
  local name="Snakemake and Toil by Slurm's words"
  if [[ ! -x $clusters/snakemake.sh || $(id -u) != 0 ]]; then check "$name" skip "$clusters (DIVVY_CLUSTER_TOOLS) is not here, or this is not root: they are NOT tested"
  else DIVVY_CLUSTER_TOOLS=$(realpath "$clusters") e2e "$name" -timeout 70m -run 'TestClusters(SlurmWords|Snakemake)'
  fi
}

# provisioned [TESTS] : pilots that divvy starts in a real Slurm; nightly also in Grid Engine, by ssh where there is an sshd, and that are deleted.
# shellcheck disable=SC2120 # nightly says which
provisioned() {
  local name="Pilots of batch systems" but=()
  [[ -z ${1:-} || -x /usr/sbin/sshd ]] || { check "Pilots by ssh" skip "no openssh-server is here: it is NOT tested"; but=(-skip TestClustersProvisionSSH); }
  if [[ ! -x $clusters/slurm.sh || $(id -u) != 0 ]]; then check "$name" skip "$clusters (DIVVY_CLUSTER_TOOLS) is not here, or this is not root: they are NOT tested"
  else DIVVY_CLUSTER_TOOLS=$(realpath "$clusters") e2e "$name" -timeout 30m "${but[@]}" -run "${1:-TestClustersProvision\$}"
  fi
}

# short_bench : it runs, its recounts agree, and no figure is under a quarter of its target, or of what docs/performance.md
# reports where that is less: that finds what is broken. What has become slower, people find in figures side by side; on
# a machine that others use too, single rounds of a second are no test. Other work does not fall on all sides alike: a
# second run decides. S12 waits for a minute, and is nightly's.
short_bench() {
  go build -o "$work/divvy-bench" ./cmd/divvy-bench
  local bench=("$work/divvy-bench" --quick --rounds 1 --strict --floor 0.25 --reached "$@")
  "${bench[@]}" 2>"$work/bench.log" || { tail -n 3 "$work/bench.log"; echo "once more"; "${bench[@]}"; }
}

# static : all that does not run divvy.
static() {
  check "go.mod is tidy" go mod tidy -diff
  check "gofmt" formatted
  check "golangci-lint, with go vet's checks" "$golangci" run ./...
  check "api/web/assets" bundled
  tests "tally" -vet=all .ci/tally.go .ci/tally_test.go
  tests "table of faults" -vet=all .ci/faults.go .ci/faults_test.go
}
