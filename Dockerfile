# docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=1.2.3 .
#
# Built on the machine's own processor for the image's: Go needs no emulation for that. The Go of
# this image need not be the newest: GOTOOLCHAIN has it fetch the one that the binary
# is built with, whose sum Go knows.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ENV GOTOOLCHAIN=go1.26.9
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# .git is not in the context: give the version with --build-arg VERSION=…
ARG VERSION=0.1.0
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=${VERSION}" -o /out/sluice ./cmd/sluice
RUN go run ./tools/linked /out/sluice
RUN mkdir /out/data

# Certificates, time zones and a user, 1 MB compressed; the program has 20 MB compressed.
FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Streaming gateway for agents" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /out/sluice /sluice
# 65532 is the user nonroot. The folder must be its own before VOLUME, or the
# volume would belong to root.
COPY --from=build --chown=65532:65532 /out/data /data
VOLUME /data
# Without PORT or SLUICE_ADDR the gateway listens on loopback, which nobody outside the
# container reaches. A platform that sets PORT, or who sets SLUICE_ADDR, wins.
ENV PORT=8080
ENV SLUICE_TODO_DB=/data/todo.db
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=3s --start-period=5s CMD ["/sluice", "healthcheck"]
# Give GEMINI_API_KEY when the container is started, never here. Let stopping take
# longer than SLUICE_DRAIN_TIMEOUT: docker stop --time 45.
ENTRYPOINT ["/sluice"]
