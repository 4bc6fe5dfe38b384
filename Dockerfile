# One layer over a base that brings Node 24: the compiled product, the built console and the packages, as `npm run image-files` puts
# them into dist/image, which is the context of this file:
#
#   npm run image-files && docker build --file Dockerfile --tag heliograph dist/image
#
# Nothing is fetched and no command runs here, so the layer is the same on every platform and, with a fixed time (SOURCE_DATE_EPOCH
# with BuildKit, --timestamp with buildah), the same bytes each time.
ARG BASE_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot
FROM ${BASE_IMAGE}

ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="heliograph" \
      org.opencontainers.image.description="Signed webhooks over NATS JetStream and one governed metrics read API: operator, runtime and commands" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      dev.heliograph.sbom="/app/sbom.cdx.json"

COPY . /

# Distroless keeps node outside of its PATH.
ENV PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NODE_ENV=production
WORKDIR /app
USER 65532:65532
EXPOSE 8080 9090

# `runtime` and the commands are arguments of this; the operator is node /app/cli/operator/heliograph-operator.js.
ENTRYPOINT ["node", "/app/cli/heliograph.js"]
CMD ["--help"]
