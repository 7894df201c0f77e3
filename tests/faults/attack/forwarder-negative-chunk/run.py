"""A confined agent makes the run process read without limit: a chunk size of -1 means `read to the end` (MAX_REQUEST is 64 MiB)."""
import os, resource, socket, threading, time
from lawbook.agents.runner.model_proxy import MAX_REQUEST_BYTES, ModelEndpoint, ModelProxy
class Meter:
    def count_request(self): pass
f = ModelProxy(ModelEndpoint("http://127.0.0.1:1", {"x-api-key": "SECRET"}, ("/v1/messages",)), Meter())
sock = socket.create_server(("127.0.0.1", 0)); port = sock.getsockname()[1]
f.serve(sock)
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
print("limit of a request", MAX_REQUEST_BYTES >> 20, "MiB; RSS before", rss(), "MiB")
pid = os.fork()
if pid == 0:                       # the agent: no token, no valid path needed
    c = socket.create_connection(("127.0.0.1", port))
    c.sendall(b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
    block = b"x" * (1 << 20)
    for _ in range(400): c.sendall(block)
    time.sleep(3); os._exit(0)
for _ in range(6):
    time.sleep(0.7); print("RSS", rss(), "MiB")
os.waitpid(pid, 0); print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, "MiB")
os._exit(0)
