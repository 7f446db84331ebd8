# Builds the program in one image and runs it in another that has neither compiler nor development packages.

FROM node:22-slim AS build
RUN apt-get update \
  && apt-get install --yes --no-install-recommends python3 make g++ \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
# The packages first, so that a change of the source does not install them again. npm ci would run the project's own build,
# which has no source yet: scripts stay off, and the one package that is native is built by name.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund && npm rebuild better-sqlite3
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY adapters adapters
COPY config config
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:22-slim
ENV NODE_ENV=production MNEME_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/config config
RUN mkdir --mode=0700 /data && chown node:node /data
USER node
VOLUME /data
CMD ["node", "dist/src/cli/main.js", "start"]
