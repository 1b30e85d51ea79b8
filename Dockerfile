# Penstock as a container: runs as nobody special, on a read-only root, and writes only into the volume (docs/how-to/deploy-with-containers.md).
# The version of Node is that of the node-linux packages in package.json.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json tsconfig.client.json ./
COPY bin bin
COPY src src
COPY console console
# The base has Node: what npm would bring of it is left out.
RUN npm run build && npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-bookworm-slim
WORKDIR /opt/penstock
# The Markdown files are served at /docs/guides, as docs is.
COPY package.json LICENSE openapi.json README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md ./
COPY bin bin
COPY docs docs
COPY migrations migrations
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
RUN install --directory --mode=0700 --owner=node --group=node /var/lib/penstock
# The last of them as bin/launch.js has it: memory that was read into goes back to the system.
ENV NODE_ENV=production \
    PENSTOCK_HOST=0.0.0.0 \
    PENSTOCK_PORT=8080 \
    PENSTOCK_DATA=/var/lib/penstock/data \
    MALLOC_MMAP_THRESHOLD_=1048576
# By number, so that Kubernetes can see that it is not root.
USER 1000:1000
VOLUME /var/lib/penstock
EXPOSE 8080
# Whether the process lives. A database that is away is no reason to restart it; balancers ask /ready.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PENSTOCK_PORT}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--expose-gc", "/opt/penstock/dist/main.js"]
CMD ["start"]
