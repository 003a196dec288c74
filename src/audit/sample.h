// A small API with a gap, for tests.
#pragma once

#include <string_view>

namespace oncekey::audit {

inline constexpr std::string_view sample_yaml = R"(openapi: 3.1.0
info: {title: Payments, version: "1"}
servers:
  - url: https://{region}.example.com/v1/
    variables: {region: {default: eu}}
paths:
  /payments:
    parameters:
      - $ref: '#/components/parameters/Key'
    get: {responses: {}}
    post:
      operationId: pay
      responses:
        '201':
          links:
            refund: {operationId: refund}
            cancel: {operationRef: '#/paths/~1cancellations/post'}
      callbacks:
        settled: {'{$request.body#/url}': {post: {responses: {}}}}
  /payments/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string, format: uuid}}
    put: {responses: {}}
    patch:
      parameters:
        - {name: idempotency-key, in: header}
        - {name: dry, in: query, required: true, schema: {type: boolean}}
      responses: {}
    delete: {responses: {}}
  /payments/{id}/capture:
    post:
      parameters:
        - {name: id, in: path, required: true, example: p 1}
      responses: {}
  /refunds: {$ref: '#/components/pathItems/Refunds'}
  /cancellations: {post: {responses: {}}}
  /search: {post: {responses: {}}}
webhooks:
  paid: {post: {responses: {}}}
components:
  parameters:
    Key: {$ref: '#/components/parameters/RealKey'}
    RealKey: {name: Idempotency-Key, in: header, required: true}
  pathItems:
    Refunds:
      post: {operationId: refund, responses: {}}
)";

}  // namespace oncekey::audit
