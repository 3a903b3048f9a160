# One image for every role: `docker run decorum gateway`, `… fetcher`, `… console`, or any other decorum command. `node scripts/image.mjs`
# builds it without a daemon. What a tag names may change: a base by digest is `--build-arg BASE=docker.io/library/node@sha256:…`.
ARG BASE=docker.io/library/node:24.21.0-bookworm-slim

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages packages
COPY services services
# Optional are TypeScript, which one library could use, and a faster reader of msgpack, which is only written here: 31 MB.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund
# Which build this is, for `decorum status fleet` and decorum_build_info: `--build-arg COMMIT=$(git rev-parse HEAD)`
ARG COMMIT=unknown
RUN npm pkg set "commit=$COMMIT" --prefix packages/config

FROM ${BASE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
COPY --from=build /app ./
COPY scripts/healthcheck.mjs scripts/healthcheck.mjs
# A volume that is mounted here belongs to the user of the roles. All else may be read-only.
RUN mkdir /archive && chown node:node /archive
USER node
EXPOSE 8080
# Liveness only: no restart of ours would bring a lost Redis back.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "scripts/healthcheck.mjs"]
# Exec form: SIGTERM reaches node itself, which then drains.
ENTRYPOINT ["node", "packages/cli/src/main.ts"]
CMD ["up"]
