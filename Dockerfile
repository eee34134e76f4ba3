# The server, for the CPU; docs/devices.md says how to build and run it, with a GPU too.
#
#   docker build -t modeldyno .
#   docker run --rm --init -p 127.0.0.1:5000:5000 -v modeldyno:/workspace modeldyno

ARG PYTHON=3.11
ARG NODE=20

FROM node:${NODE}-slim AS page
WORKDIR /source
COPY web ./web
RUN cd web && npm ci --no-audit --no-fund && npm run build

FROM python:${PYTHON}-slim AS build
# Extras of pyproject.toml, with commas between them: server,torch
ARG EXTRAS=server
# Another build of ONNX Runtime in place of the usual one: onnxruntime-gpu[cuda,cudnn]
ARG ONNXRUNTIME=
# A further index of packages, such as that of PyTorch's builds for the CPU.
ARG TORCH_INDEX=
WORKDIR /source
RUN python -m venv /opt/modeldyno
ENV PATH=/opt/modeldyno/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY pyproject.toml constraints.txt hatch_build.py LICENSE README.md ./
COPY src ./src
COPY --from=page /source/src/modeldyno/static ./src/modeldyno/static
RUN set -eu; \
    pip install -c constraints.txt ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} ".[${EXTRAS}]"; \
    if [ -n "$ONNXRUNTIME" ]; then \
        pip uninstall -y onnxruntime; \
        pip install "$ONNXRUNTIME"; \
    fi

FROM python:${PYTHON}-slim
COPY --from=build /opt/modeldyno /opt/modeldyno
# Nothing in here belongs to the user it runs as, but the workspace.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent modeldyno \
    && install -d -m 0700 -o modeldyno -g modeldyno /workspace
ENV PATH=/opt/modeldyno/bin:$PATH \
    HOME=/tmp \
    MODELDYNO_WORKSPACE=/workspace \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
WORKDIR /workspace
VOLUME /workspace
EXPOSE 5000
# The workspace knows where its server listens, whatever --port was.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from pathlib import Path; from urllib.request import urlopen; from modeldyno.server_file import running_server; urlopen(running_server(Path('/workspace')).url + '/healthz', timeout=4)"]
# Reached from outside the container, so there is always a token: `docker exec … modeldyno token`.
ENTRYPOINT ["modeldyno", "serve", "--host", "0.0.0.0"]
