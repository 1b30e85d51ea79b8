"""ClickHouse's HTTP interface before chDB, which is ClickHouse as a library and has none of its own: what the tests need of it.

A request has a session of its own, so that requests run side by side. The data of an insert goes to the engine from a file, when
all has come: what is cut off inserts nothing.
"""

import base64
import json
import os
import re
import sys
import tempfile
import time
import uuid
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, pairwise
from urllib.parse import parse_qsl, urlsplit

from chdb import _chdb

# The role of each user; the engine itself knows one user, who has them all.
ROLES = {"penstock": "owner", "reader": "owner", "powerless": "powerless"}

# Parameters of a request that are not settings.
PARAMETERS = {
    "query", "database", "default_format", "user", "password", "query_id", "session_id", "session_timeout", "session_check",
    "quota_key", "compress", "decompress", "wait_end_of_query", "buffer_size", "stacktrace", "role",
}

STATUS_BY_NAME = {
    status: set(names.split())
    for status, names in {
        401: "REQUIRED_PASSWORD",
        403: "UNKNOWN_USER WRONG_PASSWORD AUTHENTICATION_FAILED ACCESS_DENIED",
        400: "BAD_ARGUMENTS CANNOT_PARSE_TEXT CANNOT_PARSE_ESCAPE_SEQUENCE CANNOT_PARSE_QUOTED_STRING CANNOT_PARSE_DATE"
        " CANNOT_PARSE_DATETIME CANNOT_PARSE_NUMBER CANNOT_PARSE_INPUT_ASSERTION_FAILED CANNOT_PARSE_UUID CANNOT_PARSE_IPV4"
        " CANNOT_PARSE_IPV6 DUPLICATE_COLUMN ILLEGAL_COLUMN THERE_IS_NO_COLUMN SYNTAX_ERROR INCORRECT_DATA TYPE_MISMATCH"
        " VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE",
        404: "UNKNOWN_TABLE UNKNOWN_FUNCTION UNKNOWN_IDENTIFIER UNKNOWN_TYPE UNKNOWN_STORAGE UNKNOWN_DATABASE UNKNOWN_SETTING"
        " UNKNOWN_FORMAT UNKNOWN_AGGREGATE_FUNCTION UNKNOWN_DATABASE_ENGINE UNKNOWN_ROLE",
        408: "TIMEOUT_EXCEEDED",
        413: "QUERY_IS_TOO_LARGE",
        501: "NOT_IMPLEMENTED",
        503: "SOCKET_TIMEOUT CANNOT_OPEN_FILE CANNOT_SCHEDULE_TASK",
    }.items()
}

CHUNK_BYTES = 1 << 20


class EngineError(Exception):
    def __init__(self, code, name, message):
        super().__init__(f"Code: {code}. DB::Exception: {message} ({name})")


class BodyCutOff(Exception):
    """The sender has gone: nobody waits for an answer."""


def receive(handler):
    """The body of a request in pieces, as it was sent."""
    if "chunked" not in handler.headers.get("Transfer-Encoding", "").lower():
        yield from receive_bytes(handler, int(handler.headers.get("Content-Length", 0)))
        return
    size = None
    while size != 0:
        line = handler.rfile.readline(1024)
        if not line.endswith(b"\n"):
            raise BodyCutOff
        size = int(line.split(b";")[0], 16)
        yield from receive_bytes(handler, size)
        if not handler.rfile.readline(1024).endswith(b"\n"):
            raise BodyCutOff


def receive_bytes(handler, size):
    while size > 0:
        piece = handler.rfile.read1(min(size, CHUNK_BYTES))
        if not piece:
            raise BodyCutOff
        size -= len(piece)
        yield piece


def unpack(pieces, encoding):
    if encoding == "gzip":
        return gunzip(pieces)
    if encoding:
        raise EngineError(48, "NOT_IMPLEMENTED", f"Unknown compression method: {encoding}.")
    return pieces


def gunzip(pieces):
    inflater = None
    for piece in pieces:
        while piece:
            inflater = inflater or zlib.decompressobj(31)
            try:
                yield inflater.decompress(piece)
            except zlib.error as error:
                raise EngineError(354, "ZLIB_INFLATE_FAILED", "inflate failed: data error.") from error
            piece = inflater.unused_data
            if inflater.eof:
                inflater = None
    if inflater:
        raise EngineError(354, "ZLIB_INFLATE_FAILED", "inflate failed: buffer error.")


class Insert:
    """An INSERT whose data comes with the request, cut where the engine is told of the file that has the data."""

    def __init__(self, before, after, format_name, data):
        self.before, self.after, self.format_name, self.data = before, after, format_name, data

    def query(self, file):
        if self.after.startswith("("):
            return f"{self.before}file({quote(file)}, {quote(self.format_name)}, {self.after[1:]}"
        return f"{self.before} FROM INFILE {quote(file)} COMPRESSION 'none' {self.after} FORMAT {self.format_name}"


def find_insert(sql):
    """chDB gives no data to input(), and the same rows to file()."""
    place = None
    is_select = False
    for index, (word, following) in enumerate(pairwise(chain(words_outside_quotes(sql), [None]))):
        name = word.group().upper()
        if index == 0 and name != "INSERT":
            return None
        if name == "SELECT":
            is_select = True
        elif name == "INPUT" and is_select and sql[word.end() :].lstrip().startswith("("):
            place = word
        elif name == "SETTINGS" and not is_select:
            place = word
        elif name == "FORMAT" and following and (place or not is_select):
            return cut_insert(sql, place, word.start(), following.group(), following.end())
        elif name == "VALUES" and not is_select:
            return cut_insert(sql, place, word.start(), "Values", word.end())
    return None


def cut_insert(sql, place, end, format_name, data_start):
    # One line break belongs to the statement; what comes then is data, also spaces.
    data = re.sub(r"^[ \t\f]*\r?\n?", "", sql[data_start:]).encode("utf-8", "surrogateescape")
    if place is None:
        return Insert(sql[:end], "", format_name, data)
    after = sql[place.start() if place.group().upper() == "SETTINGS" else place.end() : end].lstrip()
    return Insert(sql[: place.start()], after, format_name, data)


def words_outside_quotes(sql):
    """Each word of a query with its place, without what quotes and comments hold."""
    token = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|\w+", re.DOTALL)
    return (match for match in token.finditer(sql) if re.match(r"\w", match.group()))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body of an answer would otherwise wait for each other's acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self):
        if urlsplit(self.path).path == "/ping":
            self.answer(200, b"Ok.\n")
        else:
            self.do_POST()

    def do_POST(self):
        started_ns = time.monotonic_ns()
        parameters = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        query_id = parameters.get("query_id") or str(uuid.uuid4())
        headers = {"X-ClickHouse-Query-Id": query_id}
        received = receive(self)
        try:
            try:
                user = self.authenticate(parameters)
                body = unpack(received, self.headers.get("Content-Encoding"))
                result = self.run(parameters, user, query_id, body)
            finally:
                # Who sends reads the answer only then.
                for _ in received:
                    pass
            headers["X-ClickHouse-Summary"] = summarize(result, time.monotonic_ns() - started_ns)
            self.answer(200, result.bytes(), headers)
        except BodyCutOff:
            self.close_connection = True
        except (EngineError, RuntimeError) as error:
            self.answer_error(str(error), headers)
        except UnicodeDecodeError as error:
            # An error that quotes a row may end in the middle of a character.
            self.answer_error(error.object.decode("utf-8", "replace"), headers)

    def authenticate(self, parameters):
        user = self.headers.get("X-ClickHouse-User") or parameters.get("user") or "default"
        password = self.headers.get("X-ClickHouse-Key") or parameters.get("password") or ""
        scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            user, _, password = base64.b64decode(credentials).decode().partition(":")
        if user not in ROLES or password != self.server.password:
            text = f"{user}: Authentication failed: password is incorrect, or there is no user with such name."
            raise EngineError(516, "AUTHENTICATION_FAILED", text)
        return user

    def run(self, parameters, user, query_id, body):
        sql = parameters["query"] if "query" in parameters else decode(body)
        connection = self.server.connect()
        try:
            self.prepare(connection, parameters, user, query_id)
            insert = find_insert(sql)
            if insert:
                return self.insert(connection, insert, body)
            sql = with_own_query_ids(sql + decode(body))
            return connection.query(sql, parameters.get("default_format", "TabSeparated"), params=query_parameters(parameters))
        finally:
            connection.close()

    def insert(self, connection, insert, body):
        # The blocks of data that is sent are those of an insert, the blocks of a file those of a select.
        size = connection.query("SELECT getSetting('max_insert_block_size')", "TabSeparated").bytes().decode().strip()
        connection.query(f"SET max_block_size = {size}")
        with tempfile.NamedTemporaryFile(dir=self.server.folder) as file:
            file.write(insert.data)
            for piece in body:
                file.write(piece)
            file.flush()
            return connection.query(insert.query(file.name))

    def prepare(self, connection, parameters, user, query_id):
        connection.query(f"SET ROLE {ROLES[user]}")
        database = parameters.get("database") or self.headers.get("X-ClickHouse-Database")
        if database:
            connection.query(f"USE {quote(database, '`')}")
        if user == "reader" or self.command == "GET":
            connection.query(f"SET readonly = {1 if user == 'reader' else 2}")
        settings = {name: value for name, value in parameters.items() if name not in PARAMETERS and not name.startswith("param_")}
        if user != "reader":
            settings.setdefault("log_comment", query_id)
        if settings:
            connection.query("SET " + ", ".join(f"{name} = {quote(value)}" for name, value in settings.items()))

    def answer_error(self, text, headers):
        code = re.search(r"Code: (\d+)\. ", text)
        name = (re.findall(r"\(([A-Z][A-Z_0-9]+)\)", text) or [""])[-1]
        status = next((status for status, names in STATUS_BY_NAME.items() if name in names), 500)
        headers["X-ClickHouse-Exception-Code"] = code.group(1) if code else "1002"
        self.answer(status, f"{without_file(text)} (version {self.server.version} (official build))\n".encode(), headers)

    def answer(self, status, content, headers=None):
        self.send_response(status)
        for name, value in {"Content-Type": "text/plain; charset=UTF-8", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def quote(text, mark="'"):
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


def decode(pieces):
    return b"".join(pieces).decode("utf-8", "surrogateescape")


def summarize(result, elapsed_ns):
    numbers = {
        "read_rows": result.rows_read(),
        "read_bytes": result.bytes_read(),
        "written_rows": result.rows_written(),
        "written_bytes": result.bytes_written(),
        "elapsed_ns": elapsed_ns,
    }
    return json.dumps({name: str(number) for name, number in numbers.items()}, separators=(",", ":"))


def without_file(text):
    """An error without what tells of the file that the client has not sent, and of the engine's own second telling."""
    text = re.sub(r"^(Code: \d+\. DB::Exception: )\1", r"\1", text)
    text = re.sub(r" \(version [^)]*\)|: \(in file/uri [^)]*\)|: While executing File: data for INSERT was parsed from file", "", text)
    return re.sub(r"(\([A-Z_0-9]+\))\. \1$", r"\1", text)


def query_parameters(parameters):
    return {name.removeprefix("param_"): value for name, value in parameters.items() if name.startswith("param_")}


def with_own_query_ids(sql):
    """chDB names queries itself: the name that a request gave is in the comment of its query."""
    if re.match(r"\s*KILL\s", sql, re.IGNORECASE) or "system.processes" in sql or "system.query_log" in sql:
        return re.sub(r"\bquery_id\b", "Settings['log_comment']", sql)
    return sql


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port, folder, config, password):
        self.folder, self.password = folder, password
        self.connection_string = f"{folder}/data?config-file={config}"
        # Without a connection that stays, the engine would end with each request.
        self.first_connection = self.connect()
        self.version = self.first_connection.query("SELECT version()", "TSV").bytes().decode().strip()
        super().__init__(("127.0.0.1", port), Handler)

    def connect(self):
        return _chdb.connect(self.connection_string)


if __name__ == "__main__":
    port, folder, config = sys.argv[1:]
    Server(int(port), folder, config, os.environ["ENGINE_PASSWORD"]).serve_forever()
