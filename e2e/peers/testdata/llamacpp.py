"""llama.cpp's own HTTP server, with a small model that a package brings along, on a
port of loopback, until it is killed."""

import signal
import sys

import xllamacpp

model, port = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = 4096
params.n_parallel = 1
params.use_jinja = True
# Threads that wait for each other stand still on a machine that has other work.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
signal.pause()
