# One image for every process of the venue; docker-compose.yml starts one container for each.
FROM python:3.11-slim-bookworm

WORKDIR /opt/ordinal
COPY pyproject.toml README.md LICENSE ./
COPY exchange exchange
COPY gateway gateway
COPY operations operations
RUN pip install --no-cache-dir --disable-pip-version-check . \
    && rm -rf exchange gateway operations build \
    && useradd --system --uid 10001 ordinal \
    && install --directory --owner ordinal --mode 0700 /data
COPY config config

USER ordinal
VOLUME /data
ENTRYPOINT ["ordinal"]
CMD ["run", "config/demo.toml", "--data", "/data", "--host", "0.0.0.0"]
