# docker build -t oncekey . && docker run -p 8080:8080 -v oncekey:/var/lib/oncekey \
#   -e ONCEKEY_UPSTREAM=http://host.docker.internal:3000 oncekey
# Settings: ONCEKEY_* variables, or a file at /etc/oncekey/oncekey.toml (docs/configuration.md).
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      g++ cmake ninja-build pkg-config dpkg-dev file \
      librocksdb-dev libpq-dev libhiredis-dev libsqlite3-dev librdkafka-dev libjemalloc-dev \
      libsimdjson-dev libssl-dev libzstd-dev prometheus-cpp-dev libcli11-dev libtomlplusplus-dev \
      libyaml-cpp-dev libgtest-dev librapidcheck-dev libcpp-httplib-dev nlohmann-json3-dev
COPY . /source
RUN cmake -S /source -B /build -G Ninja && ninja -C /build oncekey && \
    cd /build && cpack -G DEB -D CPACK_COMPONENTS_ALL=program -B /packages

FROM debian:bookworm-slim
COPY --from=build /packages/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && \
    rm -rf /tmp/*.deb /var/lib/apt/lists/* && \
    useradd --uid 10001 --no-create-home --home-dir /var/lib/oncekey --shell /usr/sbin/nologin oncekey && \
    install -d -o oncekey -g oncekey -m 0700 /var/lib/oncekey
USER 10001
WORKDIR /var/lib/oncekey
VOLUME /var/lib/oncekey
# The port for clients is reached from outside the container, the one for operators is not.
ENV ONCEKEY_LISTEN=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=7s --start-period=30s \
  CMD ["/usr/bin/oncekey", "healthcheck", "--config", "/etc/oncekey/oncekey.toml"]
ENTRYPOINT ["/usr/bin/oncekey"]
CMD ["serve", "--config", "/etc/oncekey/oncekey.toml"]
