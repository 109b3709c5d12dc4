# Prosa for production: PostgreSQL and Redis come by address (see docker-compose.yml), nothing secret is in the image.
FROM python:3.13-slim AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/prosa/venv
COPY requirements/base.lock /opt/prosa/
# The same as ./prosa does: hashed wheels only, and nothing that the lock does not name.
RUN /opt/prosa/venv/bin/pip install --require-hashes --no-deps --only-binary :all: -r /opt/prosa/base.lock

FROM python:3.13-slim
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent prosa
COPY --from=packages /opt/prosa/venv /opt/prosa/venv
WORKDIR /opt/prosa/app
COPY . .
RUN /opt/prosa/venv/bin/python -m compileall -q .
ENV PATH=/opt/prosa/venv/bin:$PATH PYTHONPATH=/opt/prosa/app PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 PROSA_HOST=0.0.0.0 PROSA_PORT=8080
USER 10001:10001
EXPOSE 8080
# SIGTERM drains: turns that have begun are finished and committed.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["python", "-c", \
    "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['PROSA_PORT'] + '/healthz', timeout=2)"]
ENTRYPOINT ["python", "-m", "bot.cli"]
CMD ["serve"]
