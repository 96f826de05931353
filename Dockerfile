# syntax=docker/dockerfile:1
# The image of Mailroom. `docker build -t mailroom .` builds the service; `--target backup` adds
# the PostgreSQL programs that `mailroom admin backup` calls. docs/operating.md explains how to run it, and
# `npm run check:deploy` runs every step without a container engine.

# The Node.js version in package.json; a test keeps them equal.
FROM node:24.21.0-trixie-slim AS build
WORKDIR /app
# Files that change only with the dependencies come first, so that this layer is reused.
COPY package.json package-lock.json ./
COPY bench/package.json bench/
COPY packages/cli/package.json packages/cli/
COPY packages/clients/package.json packages/clients/
COPY packages/console/package.json packages/console/
COPY packages/contract/package.json packages/contract/
COPY packages/mail/package.json packages/mail/
COPY packages/mail-reading/package.json packages/mail-reading/
COPY packages/mcp/package.json packages/mcp/
COPY packages/sdk/package.json packages/sdk/
COPY packages/server/package.json packages/server/
COPY packages/smtp/package.json packages/smtp/
COPY packages/tools/package.json packages/tools/
# Install scripts are skipped: the only one tests esbuild, which works without it.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY packages packages
# The service shows its documentation.
COPY docs docs
COPY README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CHANGELOG.md tsconfig.json ./
# The console and the clients are built in this stage, so that the compilers are not in the final image.
RUN node packages/console/build.ts \
 && node packages/clients/src/build.ts \
 && rm -rf packages/sdk/dist packages/tools/dist packages/cli/dist node_modules/esbuild node_modules/@esbuild node_modules/fflate node_modules/smol-toml node_modules/typescript node_modules/@typescript node_modules/node-linux-* node_modules/.bin/node node_modules/.bin/esbuild node_modules/.cache

FROM debian:trixie-slim AS run
# A uid that is unlikely to belong to another user of the host.
RUN groupadd --gid 10001 mailroom \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/mailroom --shell /usr/sbin/nologin mailroom \
 && install -d -m 0700 -o 10001 -g 10001 /var/lib/mailroom
WORKDIR /app
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app
# Compiling now makes each start faster. The user that runs the program must compile it, and owns none of
# the files afterwards.
RUN install -d -o 10001 -g 10001 node_modules/.cache/mailroom \
 && setpriv --reuid=10001 --regid=10001 --clear-groups node --max-semi-space-size=4 --no-parallel-scavenge packages/server/src/main.mjs warm-up \
 && chown -R 0:0 node_modules/.cache
ENV MAILROOM_DATA_DIR=/var/lib/mailroom \
    MAILROOM_HTTP_HOST=0.0.0.0 \
    MAILROOM_SMTP_HOST=0.0.0.0 \
    MALLOC_ARENA_MAX=2
VOLUME /var/lib/mailroom
EXPOSE 8080 2525
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
  CMD ["node", "packages/server/src/main.mjs", "admin", "health"]
ENTRYPOINT ["node", "--max-semi-space-size=4", "--no-parallel-scavenge", "packages/server/src/main.mjs"]
CMD ["serve"]

FROM run AS backup
USER 0:0
RUN apt-get update \
 && apt-get install -y --no-install-recommends postgresql-client \
 && rm -rf /var/lib/apt/lists/*
USER 10001:10001

FROM run AS service
