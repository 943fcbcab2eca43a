// SPDX-License-Identifier: Apache-2.0
#include "studies/serving/result_server.hpp"

#include "sim/base/error.hpp"
#include "studies/serving/served_folder.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;
using Error = beast::error_code;
using namespace std::chrono_literals;

constexpr auto longest_request = 10s;  // to arrive, and a piece of an answer to leave
constexpr auto stop_interval = 100ms;  // of looks at the flag
constexpr std::uint32_t longest_header = 8192;
constexpr std::size_t most_connections = 64;

/// What all connections share.
struct Site {
  ServedFolder folder;
  std::uint16_t port = 0;
  std::size_t connections = 0;

  [[nodiscard]] bool is_host(std::string_view host) const {
    constexpr std::array<std::string_view, 3> names{"localhost", "127.0.0.1", "[::1]"};
    return std::ranges::any_of(
        names, [&](std::string_view name) { return host == fmt::format("{}:{}", name, port); });
  }
};

void add_headers(auto& response, std::string_view type) {
  const auto view = [](std::string_view text) {
    return beast::string_view(text.data(), text.size());
  };
  response.set(http::field::content_type, view(type));
  response.set(http::field::cache_control, "no-cache");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Content-Security-Policy", view(content_policy(type)));
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("X-Content-Type-Options", "nosniff");
}

/// One client. Keeps itself alive by what it waits for.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket&& socket, Site& site) : stream_(std::move(socket)), site_(site) {
    ++site_.connections;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { --site_.connections; }

  void read() {
    parser_.emplace();
    parser_->header_limit(longest_header);
    parser_->body_limit(std::uint64_t{0});
    stream_.expires_after(longest_request);
    http::async_read_header(
        stream_, buffer_, *parser_, [self = shared_from_this()](Error error, std::size_t) {
          self->answer(error);
        });
  }

 private:
  using Request = http::request<http::empty_body>;
  using TextResponse = http::response<http::string_body>;
  using FileResponse = http::response<http::file_body>;

  void answer(Error error) {
    if (error == http::error::header_limit) {
      refuse(http::status::request_header_fields_too_large, "The request is too long.");
    } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      refuse(http::status::bad_request, "This is no request of HTTP.");
    } else if (!error) {
      answer_request(parser_->get());
    }  // else: the client has gone, or was too slow
  }

  void answer_request(const Request& request) {
    head_ = request.method() == http::verb::head;
    const beast::string_view host = request[http::field::host];
    if (!site_.is_host({host.data(), host.size()})) {
      return refuse(http::status::forbidden, "The Host of the request is not this server's.");
    }
    if (!head_ && request.method() != http::verb::get) {
      return refuse(http::status::method_not_allowed, "Results are here to be read: GET or HEAD.");
    }
    if (parser_->content_length().value_or(0) > 0 || parser_->chunked()) {
      return refuse(http::status::bad_request, "A request has no body here.");
    }
    keep_ = request.keep_alive();
    const std::string_view target{request.target().data(), request.target().size()};
    if (target == script_path) {
      return send_text(http::status::ok, content_type(target), std::string{trace_script()});
    }
    const std::optional<std::string> path = served_path(target);
    if (!path) return refuse(http::status::not_found, "There is no such file.");
    if (path->empty() || path->back() == '/') return answer_folder(*path);
    answer_file(*path);
  }

  void answer_folder(const std::string& path) {
    if (!site_.folder.has_folder(path)) {
      return refuse(http::status::not_found, "There is no such folder.");
    }
    send_text(http::status::ok, content_type(".html"), site_.folder.page(path));
  }

  void answer_file(const std::string& path) {
    std::optional<ServedFile> file = site_.folder.open(path);
    if (!file) return refuse(http::status::not_found, "There is no such file.");
    beast::file_posix opened;
    opened.native_handle(file->release());
    http::file_body::value_type body;
    Error error;
    body.reset(std::move(opened), error);
    if (error) return refuse(http::status::internal_server_error, "The file cannot be read.");
    auto response = std::make_shared<FileResponse>(http::status::ok, version);
    add_headers(*response, content_type(path));
    response->body() = std::move(body);
    send(response);
  }

  /// Says why not, and ends the connection: what follows is not read as a request.
  void refuse(http::status status, const char* why) {
    keep_ = false;
    send_text(status, content_type(".txt"), std::string{why} + "\n");
  }

  void send_text(http::status status, std::string_view type, std::string text) {
    auto response = std::make_shared<TextResponse>(status, version);
    add_headers(*response, type);
    if (status == http::status::method_not_allowed) response->set(http::field::allow, "GET, HEAD");
    response->body() = std::move(text);
    send(response);
  }

  template <class Body>
  void send(const std::shared_ptr<http::response<Body>>& response) {
    response->keep_alive(keep_);
    response->prepare_payload();
    auto serializer = std::make_shared<http::response_serializer<Body>>(*response);
    stream_.expires_after(longest_request);
    if (head_) {
      http::async_write_header(stream_,
                               *serializer,
                               [self = shared_from_this(), response, serializer](
                                   Error error, std::size_t) { self->sent(error); });
    } else {
      write_on(response, serializer);
    }
  }

  /// Piece by piece, each with its own time: a large trace may take longer than a request.
  template <class Body>
  void write_on(const std::shared_ptr<http::response<Body>>& response,
                const std::shared_ptr<http::response_serializer<Body>>& serializer) {
    stream_.expires_after(longest_request);
    http::async_write_some(
        stream_,
        *serializer,
        [self = shared_from_this(), response, serializer](Error error, std::size_t) {
          if (error || serializer->is_done()) return self->sent(error);
          self->write_on(response, serializer);
        });
  }

  void sent(Error error) {
    if (error && error != http::error::end_of_stream) return;
    if (keep_) return read();
    Error ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
  }

  static constexpr unsigned version = 11;  // of HTTP, times ten

  beast::tcp_stream stream_;
  Site& site_;
  beast::flat_buffer buffer_{std::size_t{2} * longest_header};
  std::optional<http::request_parser<http::empty_body>> parser_;
  bool head_ = false;
  bool keep_ = false;
};

class Server {
 public:
  Server(const std::filesystem::path& folder, std::uint16_t port, const StopFlag* stop)
      : site_{.folder = ServedFolder(folder)}, stop_(stop) {
    const Tcp::endpoint place(asio::ip::address_v4::loopback(), port);
    Error error;
    acceptor_.open(place.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(place, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      throw InputError({.file = "--port",
                        .pointer = {},
                        .found = fmt::format("{}: {}", port, error.message()),
                        .expected = "a port that is free",
                        .hint = "0 takes any"});
    }
    site_.port = acceptor_.local_endpoint().port();
  }

  [[nodiscard]] std::uint16_t port() const { return site_.port; }

  void run() {
    watch();
    accept();
    context_.run();
  }

 private:
  void watch() {
    timer_.expires_after(stop_interval);
    timer_.async_wait([this](Error) {
      if (stop_requested(stop_)) {
        context_.stop();
      } else {
        watch();
      }
    });
  }

  void accept() {
    acceptor_.async_accept([this](Error error, Tcp::socket socket) {
      if (error) {  // such as no descriptor left: others will be closed
        pause_.expires_after(stop_interval);
        pause_.async_wait([this](Error) { accept(); });
        return;
      }
      if (site_.connections < most_connections) {
        std::make_shared<Connection>(std::move(socket), site_)->read();
      }
      accept();
    });
  }

  Site site_;  // first: connections that the context still holds refer to it
  const StopFlag* stop_;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_{context_};
  asio::steady_timer timer_{context_};
  asio::steady_timer pause_{context_};
};

}  // namespace

void serve_results(const std::filesystem::path& folder,
                   std::uint16_t port,
                   const StopFlag* stop,
                   const std::function<void(std::uint16_t)>& started) {
  Server server(folder, port, stop);
  started(server.port());
  server.run();
}

}  // namespace schedlab
