# Two images: `divvy` (the last one, so the default) has the static binary and nothing else; `pilot` adds a shell,
# because jobs are commands. Sites whose jobs need more build their own on top of it.
#
#   docker build -t divvy .                          daemon and command line
#   docker build -t divvy-pilot --target pilot .     pilot
#
# --build-arg VERSION=v1.2.3 is what `divvy --version` says: the build has no history to know it by.

FROM golang:1.26 AS build
WORKDIR /src
# A mirror of the Go modules, where the build cannot reach the public one.
ARG GOPROXY
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="-s -w -X 'github.com/divvyhq/divvy/internal/build.release=$VERSION'" -o /out/divvy ./cmd/divvy

FROM busybox:1.37 AS pilot
COPY --from=build /out/divvy /usr/bin/divvy
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["/usr/bin/divvy", "pilot"]

FROM gcr.io/distroless/static-debian12:nonroot AS divvy
COPY --from=build /out/divvy /usr/bin/divvy
USER 65532:65532
EXPOSE 8470
# Whether the process answers: some engines end what is ill, and that must not befall a daemon whose database is away. Whether it can
# serve is "divvy health", which docker-compose.yml asks.
HEALTHCHECK --interval=10s --timeout=6s --start-period=1h --retries=6 CMD ["/usr/bin/divvy", "health", "--live"]
ENTRYPOINT ["/usr/bin/divvy"]
CMD ["serve"]
