// A small HTTP server on the loopback, with the faults that real ones have.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pesuite::testing {

class HttpServer {
 public:
  struct File {
    std::string content;
    bool ranges = true;          // knows Range
    std::size_t cut = 0;         // the first so many answers end after half of what is asked for
    int refuse = 0, code = 503;  // the first so many answers are this code
    std::string header{};        // a line of its own
  };

  HttpServer() {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    socklen_t size = sizeof(address);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    ::listen(socket_, 16);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    stop_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  std::string url(const std::string& path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  void put(const std::string& path, File file) {
    const std::lock_guard lock(mutex_);
    files_[path] = std::move(file);
  }
  std::vector<std::string> asked() {  // requests, with their Range
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void serve() {
    while (!stop_) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) continue;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = ::recv(client, buffer, sizeof(buffer), 0);
        if (n <= 0) break;
        request.append(buffer, static_cast<std::size_t>(n));
      }
      const std::string answer = answer_to(request);
      ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }
  std::string answer_to(const std::string& request) {
    const std::lock_guard lock(mutex_);
    const std::size_t space = request.find(' '), end = request.find(' ', space + 1);
    const std::string path = request.substr(space + 1, end - space - 1);
    std::size_t from = 0;
    if (const std::size_t at = request.find("Range: bytes="); at != std::string::npos)
      from = std::stoul(request.substr(at + 13));
    asked_.push_back(path + " " + std::to_string(from));
    const auto it = files_.find(path);
    if (it == files_.end()) return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    File& f = it->second;
    if (f.refuse > 0) {
      --f.refuse;
      return "HTTP/1.1 " + std::to_string(f.code) + " Wait\r\nContent-Length: 0\r\n\r\n";
    }
    if (!f.ranges) from = 0;
    std::string body = f.content.substr(std::min(from, f.content.size()));
    std::string head = from > 0
                           ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " +
                                 std::to_string(from) + "-" + std::to_string(f.content.size() - 1) +
                                 "/" + std::to_string(f.content.size()) + "\r\n"
                           : "HTTP/1.1 200 OK\r\n";
    head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    if (!f.header.empty()) head += f.header + "\r\n";
    head += "\r\n";
    if (f.cut > 0) --f.cut, body.resize(body.size() / 2);
    return head + body;
  }

  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::vector<std::string> asked_;
  std::thread thread_;
};

}  // namespace pesuite::testing
